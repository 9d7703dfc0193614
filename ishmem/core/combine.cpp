// The operations of reductions, elementwise.
#include "combine.hpp"

#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace ishmem {
namespace {

struct BitAnd { template <class T> T operator()(T a, T b) const { return static_cast<T>(a & b); } };
struct BitOr { template <class T> T operator()(T a, T b) const { return static_cast<T>(a | b); } };
struct BitXor { template <class T> T operator()(T a, T b) const { return static_cast<T>(a ^ b); } };
// The result is NaN when either operand is NaN.
struct Max { template <class T> T operator()(T a, T b) const { return a > b || a != a ? a : b; } };
struct Min { template <class T> T operator()(T a, T b) const { return a < b || a != a ? a : b; } };
struct Sum { template <class T> T operator()(T a, T b) const { return static_cast<T>(a + b); } };
// 1u: 16-bit operands would be promoted to int, whose product may overflow.
struct Prod {
    template <class T> T operator()(T a, T b) const {
        if constexpr (std::is_same_v<T, uint16_t>) return static_cast<T>(1u * a * b);
        else return static_cast<T>(a * b);
    }
};

template <class Operation, class T>
void combine(char *dest, const char *first, const char *second, size_t count) {
    T *to = reinterpret_cast<T *>(dest);
    const T *a = reinterpret_cast<const T *>(first), *b = reinterpret_cast<const T *>(second);
#pragma GCC ivdep
    for (size_t i = 0; i < count; ++i) to[i] = Operation()(a[i], b[i]);
}

template <class To, class From>
To bits_of(From value) {
    static_assert(sizeof(To) == sizeof(From));
    To bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Written with choices between values instead of branches, so that the compiler can use vectors.
struct Float16 {
    static float wide(uint16_t half) {
        const uint32_t rest = half & 0x7fff, sign = uint32_t(half & 0x8000) << 16;
        const uint32_t normal = (rest << 13) + (rest >= 0x7c00 ? 224u << 23 : 112u << 23);
        const uint32_t small = bits_of<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
        return bits_of<float>(sign | (rest < 0x400 ? small : normal));
    }
    static uint16_t rounded(float number) {
        const uint32_t bits = bits_of<uint32_t>(number), rest = bits & 0x7fffffff;
        const uint32_t normal = (rest - (112u << 23) + 0xfff + (rest >> 13 & 1)) >> 13;
        const uint32_t small = bits_of<uint32_t>(bits_of<float>(rest) + 0.5f) - bits_of<uint32_t>(0.5f);
        const uint32_t large = rest > 0x7f800000 ? 0x7e00 | (rest >> 13 & 0x3ff) : 0x7c00;
        const uint32_t half = rest < 113u << 23 ? small : rest < 0x477ff000 ? normal : large;
        return static_cast<uint16_t>((bits >> 16 & 0x8000) | half);
    }
};

struct BFloat16 {
    static float wide(uint16_t half) { return bits_of<float>(uint32_t(half) << 16); }
    static uint16_t rounded(float number) {
        const uint32_t bits = bits_of<uint32_t>(number), nearest = bits + 0x7fff + (bits >> 16 & 1);
        return static_cast<uint16_t>((number != number ? bits | 1u << 22 : nearest) >> 16);
    }
};

template <class Half>
constexpr Halves CONVERSIONS = {
    [](char *wide, const char *halves, size_t count) {
        float *to = reinterpret_cast<float *>(wide);
        const uint16_t *from = reinterpret_cast<const uint16_t *>(halves);
#pragma GCC ivdep
        for (size_t i = 0; i < count; ++i) to[i] = Half::wide(from[i]);
    },
    [](char *halves, const char *wide, size_t count) {
        uint16_t *to = reinterpret_cast<uint16_t *>(halves);
        const float *from = reinterpret_cast<const float *>(wide);
#pragma GCC ivdep
        for (size_t i = 0; i < count; ++i) to[i] = Half::rounded(from[i]);
    }};

// Signed integers must wrap around, so they are combined as unsigned types. Types narrower than int are promoted; the
// operations cast the result back.
template <class Operation>
Combine for_bits(Type type) {
    switch (type) {
        case I8: case U8: return &combine<Operation, uint8_t>;
        case I16: case U16: return &combine<Operation, uint16_t>;
        case I32: case U32: return &combine<Operation, uint32_t>;
        case I64: case U64: return &combine<Operation, uint64_t>;
        default: return nullptr;
    }
}

template <class Operation>
Combine for_reals(Type type) {
    if (type == F32 || is_half(type)) return &combine<Operation, float>;
    return type == F64 ? &combine<Operation, double> : nullptr;
}

template <class Operation>
Combine for_numbers(Type type) {
    if (type == C64) return &combine<Operation, std::complex<float>>;
    if (type == C128) return &combine<Operation, std::complex<double>>;
    const Combine real = for_reals<Operation>(type);
    return real ? real : for_bits<Operation>(type);
}

template <class Operation>
Combine for_order(Type type) {
    switch (type) {
        case I8: return &combine<Operation, int8_t>;
        case I16: return &combine<Operation, int16_t>;
        case I32: return &combine<Operation, int32_t>;
        case I64: return &combine<Operation, int64_t>;
        case F16: case BF16: case F32: case F64: return for_reals<Operation>(type);
        default: return for_bits<Operation>(type);
    }
}

}  // namespace

const Halves *halves_of(Type type) {
    return type == F16 ? &CONVERSIONS<Float16> : type == BF16 ? &CONVERSIONS<BFloat16> : nullptr;
}

Combine combine_of(Routine routine, Type type) {
    switch (routine) {
        case AndReduce: return for_bits<BitAnd>(type);
        case OrReduce: return for_bits<BitOr>(type);
        case XorReduce: return for_bits<BitXor>(type);
        case MaxReduce: return for_order<Max>(type);
        case MinReduce: return for_order<Min>(type);
        case ProdReduce: return for_numbers<Prod>(type);
        case SumReduce: return for_numbers<Sum>(type);
        case SumInscan: case SumExscan: return type == C64 || type == C128 ? nullptr : for_numbers<Sum>(type);
        default: return nullptr;
    }
}

}  // namespace ishmem
