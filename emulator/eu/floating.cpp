// Arithmetic of floats, rounded as the thread's control register says.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

struct Add {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a + b; }
};
struct Multiply {
  template <class C>
  static C apply(C a, C b, C, uint32_t) { return a * b; }
};
struct MultiplyAdd {
  template <class C>
  static C apply(C a, C b, C c, uint32_t) { return std::fma(b, c, a); }
};
struct RoundDown {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return std::floor(a); }
};
struct RoundUp {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return std::ceil(a); }
};
struct RoundToZero {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return std::trunc(a); }
};
// Not nearbyint: the rounding mode of the thread has no say.
struct RoundToEven {
  static float apply(float a, float, float, uint32_t) {
    return _mm_cvtss_f32(_mm_round_ss(_mm_set_ss(a), _mm_set_ss(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
  static double apply(double a, double, double, uint32_t) {
    return _mm_cvtsd_f64(_mm_round_sd(_mm_set_sd(a), _mm_set_sd(a), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
  }
};
struct Fraction {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return a - std::floor(a); }
};

template <class F, int Sources>
Execute for_class(const Instruction& i) {
  if (i.lanes_class == Class::F32) return for_size<F, float, Sources>(i.size);
  return i.lanes_class == Class::F64 ? for_size<F, double, Sources>(i.size) : nullptr;
}

}  // namespace

Execute float_operation(const Instruction& i) {
  switch (i.op) {
    case Op::Add: return for_class<Add, 2>(i);
    case Op::Mul: return for_class<Multiply, 2>(i);
    case Op::Mad: return for_class<MultiplyAdd, 3>(i);
    case Op::Rndd: return for_class<RoundDown, 1>(i);
    case Op::Rndu: return for_class<RoundUp, 1>(i);
    case Op::Rndz: return for_class<RoundToZero, 1>(i);
    case Op::Rnde: return for_class<RoundToEven, 1>(i);
    case Op::Frc: return for_class<Fraction, 1>(i);
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
