// The IEEE macros: math.invm and math.rsqtm begin a division or a square root, madm goes on. Their operands have an
// exponent of a wider range than their type, which the exponent registers mme0 to mme7 extend, so that no step of a
// sequence overflows or loses bits. The first instruction may set a flag for lanes that have their result already: early
// out. On a card these are zeros, infinities and NaN. Here it is every lane, with the result that the sequence would end
// with: the quotient or root, rounded once. Without that flag the sequence is followed.
#include <algorithm>
#include <cfenv>

#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

constexpr int kNoMacro = 8;

// A value and the power of two to multiply it with.
template <class C>
struct Extended {
  C value;
  int exponent;
};

template <class C>
Extended<C> read(const Thread& t, const Operand& o, int channel, const C* lanes, int lane) {
  const int exponent = o.macro == kNoMacro ? 0 : t.exponents[o.macro][channel + lane];
  return {lanes[lane], exponent};
}

template <class C>
bool is_ordinary(C value) {
  constexpr C small = sizeof(C) == 8 ? C(0x1p-900) : C(0x1p-90f), large = 1 / small;
  const C magnitude = std::fabs(value);
  return magnitude >= small && magnitude <= large;
}

// Between 1 and 2, but for what has no exponent.
template <class C>
Extended<C> normalised(Extended<C> x) {
  if (x.value == 0 || !std::isfinite(x.value)) return {x.value, 0};
  int exponent;
  const C mantissa = std::frexp(x.value, &exponent);
  return {2 * mantissa, x.exponent + exponent - 1};
}

// a + b * c, as a number of 64 bits whose last one tells that more were lost, times two to the power.
template <class C>
Extended<long double> sum_of_product(Extended<C> a, Extended<C> b, Extended<C> c) {
  a = normalised(a), b = normalised(b), c = normalised(c);
  const int product = b.exponent + c.exponent;
  const int scale = a.value == 0 ? product : b.value == 0 || c.value == 0 ? a.exponent : std::max(a.exponent, product);
  // What is further away than this is only to be seen in the last bit.
  constexpr int kFar = -300;
  const long double a_scaled = std::ldexp(static_cast<long double>(a.value), std::max(a.exponent - scale, kFar));
  const long double b_scaled = std::ldexp(static_cast<long double>(b.value), std::max(product - scale, kFar));
  const int mode = std::fegetround();
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_INEXACT);
  volatile long double sum = std::fma(b_scaled, static_cast<long double>(c.value), a_scaled);
  const bool lost = std::fetestexcept(FE_INEXACT);
  std::fesetround(mode);
  long double odd = sum;
  uint64_t mantissa;
  memcpy(&mantissa, &odd, 8);
  mantissa |= lost;
  memcpy(&odd, &mantissa, 8);
  return {odd, scale};
}

// Rounded once: to the type, or to its precision with an exponent of its own.
template <class C>
Extended<C> rounded(Extended<long double> x, bool extended) {
  if (!extended) return {static_cast<C>(std::ldexp(x.value, x.exponent)), 0};
  if (x.value == 0 || !std::isfinite(x.value)) return {static_cast<C>(x.value), 0};
  int exponent;
  const long double mantissa = std::frexp(x.value, &exponent);
  Extended<C> result{static_cast<C>(mantissa), x.exponent + exponent};
  const C plain = std::ldexp(result.value, result.exponent);
  if (is_ordinary(plain)) return {plain, 0};
  return result;
}

template <class C>
Extended<C> multiply_add(Extended<C> a, Extended<C> b, Extended<C> c, bool extended) {
  const C sum = std::fma(b.value, c.value, a.value);
  const bool plain = !(a.exponent | b.exponent | c.exponent);
  if (plain && is_ordinary(sum) && is_ordinary(b.value) && is_ordinary(c.value)) return {sum, 0};
  if (!std::isfinite(a.value) || !std::isfinite(b.value) || !std::isfinite(c.value)) return {sum, 0};
  if (plain && a.value == 0 && (b.value == 0 || c.value == 0)) return {sum, 0};
  return rounded<C>(sum_of_product(a, b, c), extended);
}

template <class C>
void write(Thread& t, const Instruction& i, int lane, Extended<C> result) {
  reinterpret_cast<C*>(t.registers + i.destination.offset)[lane] = result.value;
  if (i.destination.macro != kNoMacro)
    t.exponents[i.destination.macro][i.channel + lane] = static_cast<int16_t>(result.exponent);
}

template <class C>
void multiply_add_lanes(Thread& t, const Instruction& i) {
  C buffers[3][32];
  const C* lanes[3];
  for (int s = 0; s < 3; ++s) lanes[s] = lanes_of(t, i.source[s], buffers[s]);
  for (uint32_t left = enabled(t, i); left; left &= left - 1) {
    const int k = __builtin_ctz(left);
    Extended<C> x[3];
    for (int s = 0; s < 3; ++s) x[s] = read(t, i.source[s], i.channel, lanes[s], k);
    write(t, i, k, multiply_add(x[0], x[1], x[2], i.destination.macro != kNoMacro));
  }
}

template <class C>
bool is_special(C value) {
  return value == 0 || !std::isfinite(value);
}

template <class C>
void begin_division(Thread& t, const Instruction& i) {
  C buffers[2][32];
  const C* a = lanes_of(t, i.source[0], buffers[0]);
  const C* b = lanes_of(t, i.source[1], buffers[1]);
  const uint32_t mask = enabled(t, i);
  uint32_t early = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    const int k = __builtin_ctz(left);
    if (i.early_out || is_special(a[k]) || is_special(b[k])) {
      early |= 1u << k;
      write<C>(t, i, k, {a[k] / b[k], 0});
      continue;
    }
    const Extended<C> divisor = normalised<C>({b[k], 0});
    write(t, i, k, rounded<C>({static_cast<long double>(1 / divisor.value), -divisor.exponent}, true));
  }
  if (i.early_out) set_flags(t, i, early, mask);
}

template <class C>
void begin_square_root(Thread& t, const Instruction& i) {
  C buffer[32];
  const C* a = lanes_of(t, i.source[0], buffer);
  const uint32_t mask = enabled(t, i);
  uint32_t early = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    const int k = __builtin_ctz(left);
    if (i.early_out || is_special(a[k]) || a[k] < 0) {
      early |= 1u << k;
      write<C>(t, i, k, {std::sqrt(a[k]), 0});
    } else {
      write<C>(t, i, k, {1 / std::sqrt(a[k]), 0});
    }
  }
  if (i.early_out) set_flags(t, i, early, mask);
}

}  // namespace

Execute macro_operation(const Instruction& i) {
  const bool wide = i.lanes_class == Class::F64;
  if (i.saturate || i.destination.region == Region::Strided || i.destination.region == Region::Table) return nullptr;
  if (!wide && i.lanes_class != Class::F32) return nullptr;
  if (i.op == Op::Madm && i.condition == Condition::None)
    return wide ? multiply_add_lanes<double> : multiply_add_lanes<float>;
  if (i.op != Op::Math) return nullptr;
  if (i.function == static_cast<uint32_t>(MathFunction::InvertMacro))
    return wide ? begin_division<double> : begin_division<float>;
  if (i.function == static_cast<uint32_t>(MathFunction::InverseSquareRootMacro))
    return wide ? begin_square_root<double> : begin_square_root<float>;
  return nullptr;
}

}  // namespace ishmem_emulator::eu
