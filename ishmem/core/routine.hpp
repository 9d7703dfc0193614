// The type of public functions whose plain case runs in the core.
#pragma once
#include <Python.h>
#include <structmember.h>

namespace ishmem {

bool add_routine_type(PyObject *module);

// Returns the name of the routine whose plain case this thread runs; empty where there is none.
PyObject *running_routine();

}  // namespace ishmem
