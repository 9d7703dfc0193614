// What the core asks Python for where the host's loads and stores do not serve: the copy engine, a mapping of private
// memory, and an atomic by a kernel. See ishmem/runtime/core_help.py.
#pragma once
#include "operations.hpp"
#include "private_memory.hpp"

namespace ishmem {

// Starts a copy of the copy engine; `local`, this PE's array, is kept until it completes. False with a Python exception.
bool copy_by_engine(char *to, const char *from, size_t bytes, PyObject *local);
bool complete_engine();

// Maps the allocation of a private address, if that is worth it for a copy of so many bytes. Returns whether it is mapped.
bool map_private(const char *address, size_t bytes, Access access);

// Does an atomic by a kernel, and returns the old value; null with a Python exception.
PyObject *atomic_by_kernel(int rmw, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond);

}  // namespace ishmem
