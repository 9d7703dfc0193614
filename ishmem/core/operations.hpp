// The host operations. Each has a plain case that is done here; false, or NotImplemented, means that the
// arguments are not the plain case and that Python decides: another route, or an error that explains.
#pragma once
#include "heap.hpp"

namespace ishmem {

inline PyObject *not_implemented() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

bool transfer(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, bool is_put);
bool p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index);
PyObject *g(PyObject *source, PyObject *pe, PyObject *index);

enum Rmw { Fetch, Swap, CompareSwap, Add, And, Or, Xor };

// Returns the old value; `types` has bit t set for each Type t that the operation takes.
PyObject *atomic(int rmw, uint32_t types, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond);

enum Compare { EQ = 1, NE, GT, GE, LT, LE };  // the numbers of ISHMEM_CMP_*

// How a wait ended; BadArguments as above.
enum Outcome { BadArguments = -1, Failed, Satisfied, TimedOut, Lost, Interrupted };

Outcome wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, double timeout);
Outcome test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index);

void fence();
Outcome barrier(double timeout);

}  // namespace ishmem
