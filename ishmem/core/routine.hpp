// The type of public functions whose plain case runs in the core.
#pragma once
#include <Python.h>
#include <structmember.h>

namespace ishmem {

bool add_routine_type(PyObject *module);

}  // namespace ishmem
