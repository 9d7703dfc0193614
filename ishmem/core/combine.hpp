// The operations of reductions.
#pragma once
#include <cstddef>

#include "array.hpp"
#include "routines.hpp"

namespace ishmem {

// Floats of 16 bits are combined in float32, and rounded once: no algorithm passes on what was combined of some PEs.
inline bool is_half(Type type) { return type == F16 || type == BF16; }

// Conversions of `count` of them, to float32 and from it: to the nearest, ties to even.
struct Halves {
    void (*widen)(char *wide, const char *halves, size_t count);
    void (*round)(char *halves, const char *wide, size_t count);
};
const Halves *halves_of(Type type);  // null for other types

// Computes dest = first op second for `count` elements, which are float32 for floats of 16 bits. `combine_of` returns null
// when the type lacks the operation.
using Combine = void (*)(char *dest, const char *first, const char *second, size_t count);
Combine combine_of(Routine routine, Type type);

}  // namespace ishmem
