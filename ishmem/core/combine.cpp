// The operations of reductions, elementwise.
#include "combine.hpp"

#include <complex>
#include <cstdint>
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
    if (type == F32) return &combine<Operation, float>;
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
        case F32: case F64: return for_reals<Operation>(type);
        default: return for_bits<Operation>(type);
    }
}

}  // namespace

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
