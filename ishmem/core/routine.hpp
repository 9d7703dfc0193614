// The type of public functions that have a function in the core.
#pragma once
#include <Python.h>
#include <structmember.h>

namespace ishmem {

bool add_routine_type(PyObject *module);

// The name of the routine whose core function this thread runs, and its arguments by name; both empty where there is none.
PyObject *running_name();
PyObject *running_arguments();

}  // namespace ishmem
