// The operations of reductions.
#pragma once
#include <cstddef>

#include "array.hpp"
#include "routines.hpp"

namespace ishmem {

// Computes dest = first op second for `count` elements. `combine_of` returns null when the type lacks the operation.
using Combine = void (*)(char *dest, const char *first, const char *second, size_t count);
Combine combine_of(Routine routine, Type type);

}  // namespace ishmem
