// The functions of math, evaluated in double precision: the card's own have a relative error of some ulp.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

template <MathFunction Function>
double value(double a, double b) {
  switch (Function) {
    case MathFunction::Invert: return 1 / a;
    case MathFunction::Log2: return std::log2(a);
    case MathFunction::Exp2: return std::exp2(a);
    case MathFunction::SquareRoot: return std::sqrt(a);
    case MathFunction::InverseSquareRoot: return 1 / std::sqrt(a);
    case MathFunction::Sine: return std::sin(a);
    case MathFunction::Cosine: return std::cos(a);
    case MathFunction::Divide: return a / b;
    case MathFunction::Power: return std::pow(std::fabs(a), b);
    case MathFunction::HyperbolicTangent: return std::tanh(a);
    default: return 0;
  }
}

// Not for lanes that an instruction lacks: these functions are slow.
template <MathFunction Function>
void evaluate(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  float buffers[2][32], result[32] = {};
  const float* a = lanes_of(t, i.source[0], buffers[0]);
  const float* b = i.sources > 1 ? lanes_of(t, i.source[1], buffers[1]) : a;
  for (uint32_t left = mask; left; left &= left - 1) {
    const int k = __builtin_ctz(left);
    result[k] = static_cast<float>(value<Function>(a[k], b[k]));
  }
  finish(t, i, result, mask);
}

}  // namespace

Execute math_operation(const Instruction& i) {
  if (i.op != Op::Math || i.lanes_class != Class::F32) return nullptr;
  switch (static_cast<MathFunction>(i.function)) {
    case MathFunction::Invert: return evaluate<MathFunction::Invert>;
    case MathFunction::Log2: return evaluate<MathFunction::Log2>;
    case MathFunction::Exp2: return evaluate<MathFunction::Exp2>;
    case MathFunction::SquareRoot: return evaluate<MathFunction::SquareRoot>;
    case MathFunction::InverseSquareRoot: return evaluate<MathFunction::InverseSquareRoot>;
    case MathFunction::Sine: return evaluate<MathFunction::Sine>;
    case MathFunction::Cosine: return evaluate<MathFunction::Cosine>;
    case MathFunction::Divide: return evaluate<MathFunction::Divide>;
    case MathFunction::Power: return evaluate<MathFunction::Power>;
    case MathFunction::HyperbolicTangent: return evaluate<MathFunction::HyperbolicTangent>;
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
