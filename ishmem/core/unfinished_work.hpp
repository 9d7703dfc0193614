// Work that dpnp has submitted to a device and has not waited for: dpnp 0.17 and later returns before its kernels have run.
// Host calls read and write memory without a queue, so each settles first.
#pragma once
#include <Python.h>

namespace ishmem {

// Whether there may be such work. The interpreter's lock guards it.
inline bool work_submitted = false;

// Waits for the work by the function of Python that was registered for this; false if that raises.
bool wait_for_submitted();

inline bool settle_submitted() { return !__builtin_expect(work_submitted, false) || wait_for_submitted(); }

}  // namespace ishmem
