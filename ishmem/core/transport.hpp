// How barriers and collectives reach other PEs. Their files are compiled twice: for jobs, in the namespace `direct`, and
// with REHEARSED for the rehearsals of `tools.scale`, in the namespace `rehearsed`: see direct.hpp and rehearsal.hpp.
#pragma once

#ifdef REHEARSED
#define TRANSPORT rehearsed
#else
#define TRANSPORT direct
#endif

namespace ishmem {
inline namespace TRANSPORT {}
}  // namespace ishmem

#ifdef REHEARSED
#include "rehearsal.hpp"
#else
#include "direct.hpp"
#endif
