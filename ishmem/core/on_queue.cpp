// Copies on SYCL queues and the wait for their events, through dpctl's C interface: a call that needs no object of dpctl
// for the memory, and a wait without the GIL and without SYCL's locks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "polling.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

constexpr int COMPLETE = 3;        // dpctl's DPCTL_COMPLETE
constexpr int FIRST_LOOKS = 50;    // looks that hold the GIL, which takes longer to release and take than a short copy
constexpr unsigned NAPS = 32;      // a nap is that part of the time waited, so a wait is late by half of it at most
constexpr long LONGEST_NAP = 50;   // microseconds
const char *const CAPSULE = "SyclEventRef";  // the name that dpctl expects; it renames a capsule that it has read

struct Dpctl {
    int (*status)(void *event) = nullptr;
    void *(*copy)(void *queue, void *to, const void *from, size_t bytes, void *const *before, size_t count) = nullptr;
    void (*release)(void *event) = nullptr;
};

Dpctl dpctl;

template <class Function>
void set(Function &function, uintptr_t address) { function = reinterpret_cast<Function>(address); }

bool is_complete(void *event) { return dpctl.status(event) == COMPLETE; }

// Polls for at most `limit` seconds; yields between polls for `yielding` seconds, then sleeps.
bool poll_event(void *event, double yielding, double limit) {
    const auto begin = Clock::now();
    while (!is_complete(event)) {
        const std::chrono::duration<double> waited = Clock::now() - begin;
        if (waited.count() >= limit) return false;
        if (waited.count() < yielding) sched_yield();
        else nap(static_cast<unsigned>(std::clamp(static_cast<long>(waited.count() * 1e6) / NAPS, 1L, LONGEST_NAP)));
    }
    return true;
}

// Returns whether the event has completed.
bool wait_event(uintptr_t address, double yielding, double limit) {
    void *event = reinterpret_cast<void *>(address);
    for (int look = 0; look < FIRST_LOOKS; ++look)
        if (is_complete(event)) return true;
    nb::gil_scoped_release others_run;
    return poll_event(event, yielding, limit);
}

void release_event(PyObject *capsule) {
    const char *name = PyCapsule_GetName(capsule);
    if (void *event = PyCapsule_GetPointer(capsule, name)) dpctl.release(event);
}

// Submits a copy and returns the capsule of its event, which dpctl.SyclEvent takes.
nb::object queue_copy(uintptr_t queue, uintptr_t to, uintptr_t from, size_t bytes, const std::vector<uintptr_t> &before) {
    const auto *events = reinterpret_cast<void *const *>(before.data());
    void *event = dpctl.copy(reinterpret_cast<void *>(queue), reinterpret_cast<void *>(to), reinterpret_cast<const void *>(from),
                             bytes, events, before.size());
    if (!event) throw std::runtime_error("SYCL has refused a copy on a queue");
    PyObject *capsule = PyCapsule_New(event, CAPSULE, &release_event);
    if (!capsule) throw nb::python_error();
    return nb::steal(capsule);
}

// Returns (offset of the symmetric array in the heap, address of the own array, bytes) of a put or get; None for
// arguments that need the general path.
nb::object copy_ends(nb::handle dest, nb::handle source, nb::handle nelems, bool is_put) {
    View to, from;
    size_t count;
    if (!view_of(dest.ptr(), to) || !view_of(source.ptr(), from)) return nb::none();
    if (!fit(to, from) || !count_of(nelems.ptr(), to, from, count) || !count) return nb::none();
    const View &far = is_put ? to : from, &own = is_put ? from : to;
    const ptrdiff_t offset = far.device ? heap().offset_of(far.address, far.count * far.item) : -1;
    if (offset < 0) return nb::none();
    return nb::make_tuple(offset, reinterpret_cast<uintptr_t>(own.address), count * to.item);
}

}  // namespace

void bind_on_queue(nb::module_ &m) {
    m.def("use_dpctl", [](uintptr_t status, uintptr_t copy, uintptr_t release) {
        set(dpctl.status, status);
        set(dpctl.copy, copy);
        set(dpctl.release, release);
    });
    m.def("wait_event", &wait_event);
    m.def("queue_copy", &queue_copy);
    m.def("copy_ends", &copy_ends, nb::arg().none(), nb::arg().none(), nb::arg().none(), nb::arg());
}

}  // namespace ishmem
