// The functions of Python that the core calls: where the host's loads and stores do not serve, the copy engine, a mapping of
// private memory, and an atomic by a kernel; and those that raise the errors of calls that have begun and cannot end. See
// ishmem/runtime/called_by_core.py.
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

// A variable that does not have the value that a wait of this mode waits for.
struct Unsatisfied {
    Mode mode;
    PyObject *index;
    PyObject *seen;  // its value; the reference is taken over
    PyObject *compare, *wanted, *timeout;
};

// These raise the error of a wait, a barrier or a collective of the routine that runs, and return null; where the outcome
// is that it was interrupted, there is an exception already.
PyObject *unsatisfied(Outcome outcome, const Unsatisfied &variable);
PyObject *incomplete_barrier(Outcome outcome);
PyObject *failed_collective(int verdict, unsigned routine, unsigned team);

}  // namespace ishmem
