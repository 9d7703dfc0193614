// Callbacks to Python during a long wait.
#include "operations.hpp"

namespace ishmem {
namespace {

PyObject *wait_call = nullptr;

}  // namespace

void on_wait(PyObject *call) {
    Py_XINCREF(call == Py_None ? nullptr : call);
    Py_XDECREF(wait_call);
    wait_call = call == Py_None ? nullptr : call;
}

bool tell_wait(bool goes_on) {
    if (!wait_call) return true;
    PyObject *kind, *error, *trace;
    PyErr_Fetch(&kind, &error, &trace);  // an exception that ends the wait, if any
    PyObject *call = wait_call;
    Py_INCREF(call);
    PyObject *result = PyObject_CallFunctionObjArgs(call, goes_on ? Py_True : Py_False, nullptr);
    Py_DECREF(call);
    Py_XDECREF(result);
    if (!result && goes_on) return false;
    PyErr_Restore(kind, error, trace);
    return true;
}

}  // namespace ishmem
