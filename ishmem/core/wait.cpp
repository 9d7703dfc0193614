// Wait and test of one variable of this PE; fence and quiet; the device status.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "polling.hpp"
#include "proxy.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

template <class T>
bool holds(const char *at, int how, const void *wanted) {
    return compare(__atomic_load_n(reinterpret_cast<const T *>(at), __ATOMIC_ACQUIRE), how, *static_cast<const T *>(wanted));
}

struct Variable {
    const char *at;
    Type type;
    int how;
    alignas(8) char wanted[8];
};

bool holds(const Variable &v) {
    return with_word(v.type, [&](auto zero) { return holds<decltype(zero)>(v.at, v.how, v.wanted); });
}

bool variable_of(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, Variable &variable) {
    View view;
    Py_ssize_t how;
    variable.at = heap().element(ivar, heap().me, index, view);
    if (!variable.at || !integer_of(compare, how) || how < EQ || how > LE) return false;
    variable.type = view.type;
    variable.how = static_cast<int>(how);
    return is_word(view.type) && store_scalar(value, view.type, variable.wanted);
}

}  // namespace

// Model: tests/models/signal.pml.
Outcome wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, double timeout) {
    Variable v;
    if (!variable_of(ivar, compare, value, index, v)) return BadArguments;
    const auto done = [&] { return holds(v); };
    return poll(done, [] { return heap().status.has_lost(); }, timeout);
}

Done wait_briefly(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, PyObject *timeout) {
    Variable v;
    if (timeout != Py_None || network_engine() || !variable_of(ivar, compare, value, index, v)) return {false};
    return {poll_first([&](int times) {
        while (times > 0 && !holds(v)) --times;
        return times > 0;
    })};
}

PyObject *test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index) {
    Variable v;
    if (!variable_of(ivar, compare, value, index, v)) return not_implemented();
    if (network_engine()) network_engine()->drive();
    return PyBool_FromLong(holds(v));
}

void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

namespace {

// Kernels record wrong sizes of the arrays of a put or get; with ISHMEM_CHECK, other wrong arguments too.
bool violation_recorded(const Heap &h) { return h.status.violation && __atomic_load_n(h.status.violation, __ATOMIC_ACQUIRE); }

}  // namespace

// Model: tests/models/quiet.pml.
bool quiet() {
    const Heap &h = heap();
    if (!h.n_pes || h.status.busy_engines || h.status.quiet_is_general) return false;
    fence();
    if (drain_proxy() != Satisfied || remote_quiet() != Satisfied) return false;
    return device_status() == 0 && !proxy_failed() && !violation_recorded(h);
}

namespace {

int (*exit_status_call)(void *);
void *exit_device;

// SYCL's destructors abort when the device is lost. Exiting without them preserves the program's exit status.
void end_without_destructors(int status, void *) {
    if (!exit_status_call(exit_device)) return;
    fflush(nullptr);
    _exit(status);
}

}  // namespace

void watch_device(uintptr_t status_call, uintptr_t device) {
    heap().status.device_call = exit_status_call = reinterpret_cast<int (*)(void *)>(status_call);
    heap().status.device = exit_device = reinterpret_cast<void *>(device);
    static const int registered = on_exit(end_without_destructors, nullptr);
    (void)registered;
}

int device_status() { return heap().status.device_call ? heap().status.device_call(heap().status.device) : 0; }

}  // namespace ishmem
