// Arithmetic of integers.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

struct Add {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a + b; }
};
struct Add3 {
  template <class C>
  static C apply(C a, C b, C c, uint32_t) { return a + b + c; }
};
struct Multiply {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a * b; }
};
struct MultiplyAdd {
  template <class C>
  static C apply(C a, C b, C c, uint32_t) { return a + b * c; }
};
struct Average {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return (a + b + 1) >> 1; }
};

// src0 plus the products of four bytes each of src1 and src2; bits 0 and 1 of the function tell which of these are signed.
struct DotProduct {
  static int byte_of(uint32_t word, int k, bool with_sign) {
    const uint8_t bits = static_cast<uint8_t>(word >> 8 * k);
    return with_sign ? static_cast<int8_t>(bits) : bits;
  }
  template <class C>
  static C apply(C a, C b, C c, uint32_t function) {
    C sum = a;
    for (int k = 0; k < 4; ++k)
      sum += static_cast<C>(byte_of(static_cast<uint32_t>(b), k, function & 1) *
                            byte_of(static_cast<uint32_t>(c), k, function & 2));
    return sum;
  }
};

template <class F, int Sources>
Execute for_class(const Instruction& i) {
  switch (i.lanes_class) {
    case Class::S32:
    case Class::U32: return for_size<F, uint32_t, Sources>(i.size);
    case Class::S64:
    case Class::U64: return for_size<F, uint64_t, Sources>(i.size);
    case Class::S128: return each_lane<F, Wide, 32, Sources>;
    default: return nullptr;
  }
}

}  // namespace

Execute integer_operation(const Instruction& i) {
  switch (i.op) {
    case Op::Add: return for_class<Add, 2>(i);
    case Op::Add3: return for_class<Add3, 3>(i);
    case Op::Mul: return for_class<Multiply, 2>(i);
    case Op::Mad: return for_class<MultiplyAdd, 3>(i);
    case Op::Dp4a: return for_class<DotProduct, 3>(i);
    case Op::Avg: return i.lanes_class == Class::S64 ? for_size<Average, int64_t, 2>(i.size) : nullptr;
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
