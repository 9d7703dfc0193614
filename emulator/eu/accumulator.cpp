// Instructions that read or write accumulators besides their operands. An accumulator of 32-bit integers is wider than
// its lanes: mul of a 32-bit and a 16-bit factor leaves the whole product there, which mach and macl complete.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

void multiply_into_accumulator(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  int64_t buffers[2][32];
  const int64_t* a = lanes_of(t, i.source[0], buffers[0]);
  const int64_t* b = lanes_of(t, i.source[1], buffers[1]);
  const int first = (static_cast<int>(i.destination.offset) - place::kAccumulators) / 4;
  for (int k = 0; k < i.size; ++k) {
    if (!(mask >> k & 1)) continue;
    const uint64_t product = static_cast<uint64_t>(a[k]) * static_cast<uint64_t>(b[k]);
    t.products[first + k] = static_cast<int64_t>(product);
    t.word(place::kAccumulators + 4 * (first + k)) = static_cast<uint32_t>(product);
  }
}

// The accumulator plus src0 times the upper half of src1: the high (mach) or low (macl) 32 bits.
template <bool High>
void multiply_accumulate(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  int64_t a_lanes[32], b_lanes[32], result[32] = {};
  const int64_t* a = lanes_of(t, i.source[0], a_lanes);
  Operand factor = i.source[1];
  const bool negate = factor.modifier == Modifier::Negate;
  factor.modifier = Modifier::None;
  const int64_t* b = lanes_of(t, factor, b_lanes);
  for (int k = 0; k < i.size; ++k) {
    if (!(mask >> k & 1)) continue;
    const uint64_t upper = static_cast<uint64_t>(negate ? -(b[k] >> 16) : b[k] >> 16);
    const uint64_t product = static_cast<uint64_t>(t.products[k]) + (static_cast<uint64_t>(a[k]) * upper << 16);
    result[k] = static_cast<int64_t>(High ? product >> 32 : product & 0xffffffff);
    if (!High) continue;
    t.products[k] = static_cast<int64_t>(product & 0xffffffff);
    t.word(place::kAccumulators + 4 * k) = static_cast<uint32_t>(product);
  }
  i.put(t, i, result, mask);
}

// The sum or difference, and the carry or borrow in the accumulator.
template <bool Subtract>
void with_carry(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  uint32_t buffers[2][32], result[32] = {};
  const uint32_t* a = lanes_of(t, i.source[0], buffers[0]);
  const uint32_t* b = lanes_of(t, i.source[1], buffers[1]);
  for (int k = 0; k < i.size; ++k) {
    result[k] = Subtract ? a[k] - b[k] : a[k] + b[k];
    const uint32_t carry = Subtract ? a[k] < b[k] : result[k] < a[k];
    if (!(mask >> k & 1)) continue;
    t.word(place::kAccumulators + 4 * k) = carry;
    t.products[k] = carry;
  }
  i.put(t, i, result, mask);
}

bool is_multiplication_into_accumulator(const Instruction& i) {
  return i.op == Op::Mul && i.destination.file == File::Accumulator && i.plain && i.lanes_class == Class::S64 &&
         size_of(i.destination.type) == 4;
}

}  // namespace

Execute accumulator_operation(const Instruction& i) {
  if (is_multiplication_into_accumulator(i)) return multiply_into_accumulator;
  if (!i.plain || i.size > 16) return nullptr;
  switch (i.op) {
    case Op::Mach: return multiply_accumulate<true>;
    case Op::Macl: return multiply_accumulate<false>;
    case Op::Addc: return with_carry<false>;
    case Op::Subb: return with_carry<true>;
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
