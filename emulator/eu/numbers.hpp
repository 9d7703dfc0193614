// Numbers as the card has them: halves, brain floats, conversions that round once and saturate.
#pragma once

#include <immintrin.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace ishmem_emulator::eu {

struct Half {
  uint16_t bits;
};
struct BrainFloat {
  uint16_t bits;
};

template <class To, class From>
To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  memcpy(&result, &value, sizeof result);
  return result;
}

inline float to_float(Half half) { return _cvtsh_ss(half.bits); }
inline float to_float(BrainFloat value) { return bits_as<float>(static_cast<uint32_t>(value.bits) << 16); }
inline Half to_half(float value) { return {static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_CUR_DIRECTION))}; }

// A double as a float whose last bit tells that bits were lost, so that a second rounding to fewer bits is right.
inline float odd_float(double value) {
  uint64_t bits = bits_as<uint64_t>(value);
  const uint64_t lost = bits & 0x1fffffff;
  if (lost && std::isfinite(value)) bits = (bits & ~uint64_t(0x1fffffff)) | 0x20000000;
  return static_cast<float>(bits_as<double>(bits));
}
inline Half to_half(double value) { return to_half(odd_float(value)); }

// To the nearest, ties to even, as the card's moves to brain floats do.
inline BrainFloat to_brain(float value) {
  const uint32_t bits = bits_as<uint32_t>(value);
  if (value != value) return {static_cast<uint16_t>(bits >> 16 | 0x40)};
  return {static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
}
inline BrainFloat to_brain(double value) { return to_brain(odd_float(value)); }

// Towards zero; what does not fit becomes the nearest number that does; NaN becomes 0.
template <class I>
I saturated(double value) {
  constexpr double low = static_cast<double>(std::numeric_limits<I>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<I>::max());
  if constexpr (sizeof(I) < 4) {
    const double clamped = value > low ? (value < high ? value : high) : low;
    return value == value ? static_cast<I>(static_cast<int32_t>(clamped)) : I(0);
  } else if constexpr (sizeof(I) == 4) {
    const double clamped = value > low ? (value < high ? value : high) : low;
    using Signed = std::conditional_t<std::is_signed_v<I>, int32_t, int64_t>;
    return value == value ? static_cast<I>(static_cast<Signed>(clamped)) : I(0);
  } else {
    if (value != value) return 0;
    if (value <= low) return std::numeric_limits<I>::min();
    return value >= high ? std::numeric_limits<I>::max() : static_cast<I>(value);
  }
}

// A lane of type T of the registers as the C in which an instruction computes.
template <class C, class T>
C widened(T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BrainFloat>)
    return static_cast<C>(to_float(value));
  else
    return static_cast<C>(value);
}

// And back.
template <class T, class C>
T narrowed(C value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BrainFloat>) {
    using Real = std::conditional_t<std::is_same_v<C, float>, float, double>;
    if constexpr (std::is_same_v<T, Half>) return to_half(static_cast<Real>(value));
    else return to_brain(static_cast<Real>(value));
  } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<C>) {
    return saturated<T>(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace ishmem_emulator::eu
