// Copies on SYCL queues and the wait for their events, through dpctl's C interface: a call that needs no object of dpctl
// for the memory, and a wait without the GIL and without SYCL's locks.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <stdexcept>

#include "bindings.hpp"
#include "polling.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

constexpr int COMPLETE = 3;        // dpctl's DPCTL_COMPLETE
constexpr int FIRST_LOOKS = 50;    // looks that hold the GIL, which takes longer to release and take than a short copy
constexpr unsigned NAPS = 32;      // a nap is that part of the time waited, so a wait is late by half of it at most
constexpr long LONGEST_NAP = 500;  // microseconds
const char *const CAPSULE = "SyclEventRef";  // the name that dpctl expects; it renames a capsule that it has read

constexpr size_t MOST_BEFORE = 16;  // events that a copy waits for

struct Dpctl {
    int (*status)(void *event) = nullptr;
    void *(*copy)(void *queue, void *to, const void *from, size_t bytes, void *const *before, size_t count) = nullptr;
    void (*release)(void *event) = nullptr;
};

Dpctl dpctl;
std::vector<char *> peers;  // device address of each PE's heap; null where this PE's device does not reach it

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

// Finds the device addresses of a put or get between contiguous arrays in USM; false for arguments that need the general path.
bool find_addresses(PyObject *dest, PyObject *source, PyObject *pe_object, PyObject *nelems, bool is_put, Copy &copy) {
    View to, from;
    size_t count;
    Py_ssize_t pe;
    if (!view_of(dest, to) || !view_of(source, from) || !integer_of(pe_object, pe)) return false;
    if (!to.device || !from.device) return false;
    if (!fit(to, from) || !are_contiguous(to, from) || !count_of(nelems, to, from, count) || !count) return false;
    const View &far = is_put ? to : from;
    const ptrdiff_t offset = heap().offset_of(far.address, far.count * far.item);
    if (offset < 0 || pe < 0 || static_cast<size_t>(pe) >= peers.size() || !peers[static_cast<size_t>(pe)]) return false;
    char *there = peers[static_cast<size_t>(pe)] + offset;
    copy = {is_put ? there : to.address, is_put ? from.address : there, count * to.item, to.item};
    return true;
}

// Submits a put or get to a queue, after the events `before`. Returns the capsule of its event, which dpctl.SyclEvent
// takes; None for arguments that need the general path.
nb::object queue_copy(nb::handle dest, nb::handle source, nb::handle pe, nb::handle nelems, bool is_put, uintptr_t queue,
                      const std::vector<uintptr_t> &before) {
    if (!settle_submitted()) throw nb::python_error();
    Copy copy;
    if (!find_addresses(dest.ptr(), source.ptr(), pe.ptr(), nelems.ptr(), is_put, copy)) return nb::none();
    void *events[MOST_BEFORE];
    size_t count = 0;
    if (before.size() > MOST_BEFORE) return nb::none();
    for (uintptr_t event : before)
        if (!is_complete(reinterpret_cast<void *>(event))) events[count++] = reinterpret_cast<void *>(event);
    void *event = dpctl.copy(reinterpret_cast<void *>(queue), copy.to, copy.from, copy.bytes, events, count);
    if (!event) throw std::runtime_error("SYCL has refused a copy on a queue");
    nb::object capsule = event_capsule(event);
    if (device_status()) throw std::runtime_error("the device is lost");
    return capsule;
}

}  // namespace

nb::object event_capsule(void *event) {
    PyObject *capsule = PyCapsule_New(event, CAPSULE, &release_event);
    if (!capsule) dpctl.release(event);
    if (!capsule) throw nb::python_error();
    return nb::steal(capsule);
}

void bind_on_queue(nb::module_ &m) {
    m.def("use_dpctl", [](uintptr_t status, uintptr_t copy, uintptr_t release) {
        set(dpctl.status, status);
        set(dpctl.copy, copy);
        set(dpctl.release, release);
    });
    m.def("wait_event", &wait_event);
    m.def("is_complete", [](uintptr_t event) { return is_complete(reinterpret_cast<void *>(event)); });
    m.def("set_device_peers", [](const std::vector<uintptr_t> &bases) {
        peers.clear();
        for (uintptr_t base : bases) peers.push_back(reinterpret_cast<char *>(base));
    });
    const auto any = nb::arg().none();
    m.def("queue_copy", &queue_copy, any, any, any, any, nb::arg(), nb::arg(), nb::arg());
}

}  // namespace ishmem
