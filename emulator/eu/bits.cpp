// Instructions of logic and shifts, and those that count, find or move bits.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

struct And {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a & b; }
};
struct Or {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a | b; }
};
struct Xor {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a ^ b; }
};
struct Not {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return ~a; }
};

// Any function of three bits: bit a + 2 b + 4 c of the table is its value.
struct Table {
  template <class C>
  static C apply(C a, C b, C c, uint32_t table) {
    C result = 0;
    for (int k = 0; k < 8; ++k) {
      const C chosen = C(0) - C(table >> k & 1);
      result |= chosen & (k & 1 ? a : ~a) & (k & 2 ? b : ~b) & (k & 4 ? c : ~c);
    }
    return result;
  }
};

// The function is the mask of the shift's count, 31 or 63.
struct ShiftLeft {
  template <class C>
  static C apply(C a, C b, C, uint32_t mask) { return a << (b & mask); }
};
struct ShiftRight {
  template <class C>
  static C apply(C a, C b, C, uint32_t mask) { return a >> (b & mask); }
};

// The function is the width of what is rotated.
struct RotateLeft {
  template <class C>
  static C apply(C a, C b, C, uint32_t width) {
    const C value = width < 8 * sizeof(C) ? a & ((C(1) << (width & (8 * sizeof(C) - 1))) - 1) : a;
    const C count = b & (width - 1);
    return value << count | value >> 1 >> (width - 1 - count);
  }
};
struct RotateRight {
  template <class C>
  static C apply(C a, C b, C c, uint32_t width) { return RotateLeft::apply<C>(a, (width - (b & (width - 1))), c, width); }
};

struct FindLow {
  static uint32_t apply(uint32_t a, uint32_t, uint32_t, uint32_t) {
    return a ? static_cast<uint32_t>(__builtin_ctz(a)) : ~0u;
  }
};
// The function is 1 if the source has a sign: then the first bit that differs from it.
struct FindHigh {
  static uint32_t apply(uint32_t a, uint32_t, uint32_t, uint32_t with_sign) {
    const uint32_t x = with_sign && a >> 31 ? ~a : a;
    return x ? static_cast<uint32_t>(__builtin_clz(x)) : ~0u;
  }
};
struct LeadingZeros {
  static uint32_t apply(uint32_t a, uint32_t, uint32_t, uint32_t) {
    return a ? static_cast<uint32_t>(__builtin_clz(a)) : 32;
  }
};
struct CountOnes {
  static uint32_t apply(uint32_t a, uint32_t, uint32_t, uint32_t) {
    return static_cast<uint32_t>(__builtin_popcount(a));
  }
};
struct Reverse {
  static uint32_t apply(uint32_t a, uint32_t, uint32_t, uint32_t) {
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
  }
};

// src0: width, src1: offset, src2: what a field is taken from. The function is 1 if the field has a sign.
struct Extract {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, uint32_t with_sign) {
    const uint32_t width = a & 31, field = c >> (b & 31) & ((1u << width) - 1);
    if (!width) return 0;
    return with_sign && field >> (width - 1) & 1 ? field | ~0u << width : field;
  }
};
struct FieldMask {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t, uint32_t) { return ((1u << (a & 31)) - 1) << (b & 31); }
};
struct Insert {
  static uint32_t apply(uint32_t a, uint32_t b, uint32_t c, uint32_t) { return (a & b) | (~a & c); }
};

template <class F, int Sources>
Execute unsigned_lanes(const Instruction& i) {
  switch (i.lanes_class) {
    case Class::S32:
    case Class::U32: return for_size<F, uint32_t, Sources>(i.size);
    case Class::S64:
    case Class::U64: return for_size<F, uint64_t, Sources>(i.size);
    default: return nullptr;
  }
}

template <class F>
Execute arithmetic_shift(const Instruction& i) {
  switch (i.lanes_class) {
    case Class::S32: return for_size<F, int32_t, 2>(i.size);
    case Class::U32: return for_size<F, uint32_t, 2>(i.size);
    case Class::S64: return for_size<F, int64_t, 2>(i.size);
    case Class::U64: return for_size<F, uint64_t, 2>(i.size);
    default: return nullptr;
  }
}

template <class F, int Sources>
Execute of_words(const Instruction& i) {
  const bool words = i.lanes_class == Class::U32 || i.lanes_class == Class::S32;
  return words ? for_size<F, uint32_t, Sources>(i.size) : nullptr;
}

}  // namespace

Execute bit_operation(const Instruction& i) {
  switch (i.op) {
    case Op::And: return unsigned_lanes<And, 2>(i);
    case Op::Or: return unsigned_lanes<Or, 2>(i);
    case Op::Xor: return unsigned_lanes<Xor, 2>(i);
    case Op::Not: return unsigned_lanes<Not, 1>(i);
    case Op::Bfn: return unsigned_lanes<Table, 3>(i);
    case Op::Shl: return unsigned_lanes<ShiftLeft, 2>(i);
    case Op::Shr: return unsigned_lanes<ShiftRight, 2>(i);
    case Op::Asr: return arithmetic_shift<ShiftRight>(i);
    case Op::Rol: return unsigned_lanes<RotateLeft, 2>(i);
    case Op::Ror: return unsigned_lanes<RotateRight, 2>(i);
    case Op::Fbl: return of_words<FindLow, 1>(i);
    case Op::Fbh: return of_words<FindHigh, 1>(i);
    case Op::Lzd: return of_words<LeadingZeros, 1>(i);
    case Op::Cbit: return of_words<CountOnes, 1>(i);
    case Op::Bfrev: return of_words<Reverse, 1>(i);
    case Op::Bfe: return of_words<Extract, 3>(i);
    case Op::Bfi1: return of_words<FieldMask, 2>(i);
    case Op::Bfi2: return of_words<Insert, 3>(i);
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
