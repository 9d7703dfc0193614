// dpas: products of matrices. A row of the result has a lane for each column, and starts as that of the first source. The
// second source has for each step of the depth a register, in which a lane's 32 bits hold elements of one column, and the
// third has these 32 bits once for each row and step.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

constexpr int kLanes = 16, kMostRows = 8, kBits = 4;  // bytes that a lane holds of a step

struct TensorFloat {
  uint32_t bits;  // a float whose last 13 bits do not count
};
float number(TensorFloat value) { return bits_as<float>(value.bits & ~0x1fffu); }
float number(Half value) { return to_float(value); }
float number(BrainFloat value) { return to_float(value); }
template <class I>
int32_t number(I value) { return value; }

template <class T>
T& element(Thread& t, uint32_t place, int number) {
  return reinterpret_cast<T*>(t.registers + place)[number];
}

template <class Sum, class Stored, class A, class B>
void multiply(Thread& t, const Instruction& i) {
  if (enabled(t, i) != kAllLanes<kLanes>) throw Failure("a product of matrices without all channels is not known");
  const int rows = i.function & 0xff, depth = i.function >> 8;
  Sum sums[kMostRows][kLanes];
  for (int row = 0; row < rows; ++row) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const bool starts = i.source[0].file != File::Null;
      Sum sum = starts ? widened<Sum>(element<Stored>(t, i.source[0].offset, row * kLanes + lane)) : Sum(0);
      for (int step = 0; step < depth; ++step)
        for (int k = 0; k < kBits / static_cast<int>(sizeof(A)); ++k) {
          const uint32_t column = i.source[1].offset + (step * kLanes + lane) * kBits;
          const uint32_t of_row = i.source[2].offset + (row * depth + step) * kBits;
          sum += static_cast<Sum>(number(element<A>(t, column, k))) * static_cast<Sum>(number(element<B>(t, of_row, k)));
        }
      sums[row][lane] = sum;
    }
  }
  for (int row = 0; row < rows; ++row)
    for (int lane = 0; lane < kLanes; ++lane)
      element<Stored>(t, i.destination.offset, row * kLanes + lane) = narrowed<Stored>(sums[row][lane]);
}

template <class A>
Execute with_floats(const Instruction& i) {
  if (i.source[2].type != i.source[1].type) return nullptr;
  switch (i.destination.type) {
    case Type::F: return multiply<float, float, A, A>;
    case Type::HF: return multiply<float, Half, A, A>;
    case Type::BF: return multiply<float, BrainFloat, A, A>;
    default: return nullptr;
  }
}

template <class A>
Execute with_bytes(const Instruction& i) {
  if (size_of(i.destination.type) != 4 || is_float(i.destination.type)) return nullptr;
  if (i.source[2].type == Type::UB) return multiply<uint32_t, uint32_t, A, uint8_t>;
  return i.source[2].type == Type::B ? multiply<uint32_t, uint32_t, A, int8_t> : nullptr;
}

bool is_known(const Instruction& i) {
  const int rows = i.function & 0xff, depth = i.function >> 8;
  const Type start = i.source[0].type;
  const bool same = i.source[0].file == File::Null || start == i.destination.type ||
                    (size_of(start) == 4 && !is_float(start) && !is_float(i.destination.type));
  return i.sources == 3 && i.plain && i.size == kLanes && rows > 0 && rows <= kMostRows && depth == 8 && same;
}

}  // namespace

Execute matrix_operation(const Instruction& i) {
  if (!is_known(i)) return nullptr;
  switch (i.source[1].type) {
    case Type::HF: return with_floats<Half>(i);
    case Type::BF: return with_floats<BrainFloat>(i);
    case Type::F: return with_floats<TensorFloat>(i);
    case Type::UB: return with_bytes<uint8_t>(i);
    case Type::B: return with_bytes<int8_t>(i);
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
