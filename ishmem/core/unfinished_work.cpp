#include "unfinished_work.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>

namespace nb = nanobind;

namespace ishmem {

static PyObject *wait = nullptr;
static uint64_t submissions = 0;
static thread_local bool on_queue = false;

bool wait_for_submitted() {
    if (on_queue) return true;
    const uint64_t before = submissions;
    PyObject *done = wait ? PyObject_CallNoArgs(wait) : nb::none().release().ptr();
    if (!done) return false;
    Py_DECREF(done);
    if (submissions == before) work_submitted = false;  // other threads submit, and look, while this one waits
    return true;
}

void bind_unfinished_work(nb::module_ &m) {
    m.def("note_submitted", [] {
        work_submitted = true;
        ++submissions;
    });
    m.def("settle_submitted_by", [](nb::object call) {
        Py_XDECREF(wait);
        wait = call.is_none() ? nullptr : call.inc_ref().ptr();
        work_submitted = false;
    }, nb::arg("wait").none());
    // What this thread does follows the events of its own call: what has been submitted after that may wait for it.
    m.def("follow_events", [](bool follow) {
        std::swap(on_queue, follow);
        return follow;
    }, nb::arg("follow") = true);
    m.def("settle_submitted", [] { if (!settle_submitted()) throw nb::python_error(); });
}

}  // namespace ishmem
