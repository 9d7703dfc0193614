#include "submitted.hpp"

#include <nanobind/nanobind.h>

namespace nb = nanobind;

namespace ishmem {

static PyObject *wait_for_submitted = nullptr;

bool settle_submitted() {
    if (!work_submitted) return true;
    work_submitted = false;  // first: what is submitted while this waits is noted anew
    if (!wait_for_submitted) return true;
    PyObject *done = PyObject_CallNoArgs(wait_for_submitted);
    Py_XDECREF(done);
    return done != nullptr;
}

void bind_submitted(nb::module_ &m) {
    m.def("note_submitted", [] { work_submitted = true; });
    m.def("settle_submitted_by", [](nb::object wait) {
        Py_XDECREF(wait_for_submitted);
        wait_for_submitted = wait.is_none() ? nullptr : wait.inc_ref().ptr();
        work_submitted = false;
    }, nb::arg("wait").none());
    m.def("settle_submitted", [] { if (!settle_submitted()) throw nb::python_error(); });
}

}  // namespace ishmem
