// Wait and test of one variable of this PE, and the device status.
#include <cstdio>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "polling.hpp"
#include "proxy.hpp"
#include "python_calls.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

struct Variable {
    const char *at;
    Type type;
    int how;
    alignas(8) char wanted[8];
    alignas(8) char seen[8] = {};  // by the last look

    template <class T>
    bool holds() {
        const T now = __atomic_load_n(reinterpret_cast<const T *>(at), __ATOMIC_ACQUIRE);
        std::memcpy(seen, &now, sizeof now);
        return compare(now, how, *reinterpret_cast<const T *>(wanted));
    }
};

bool variable_of(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, Variable &variable) {
    View view;
    variable.at = heap().element(ivar, heap().me, index, view);
    variable.type = view.type;
    return variable.at && is_word(view.type) && comparison_of(compare, variable.how) && store_scalar(value, view.type, variable.wanted);
}

}  // namespace

bool comparison_of(PyObject *compare, int &how) {
    Py_ssize_t number;
    if (!integer_of(compare, number) || number < EQ || number > LE) return false;
    how = static_cast<int>(number);
    return true;
}

bool seconds_of(PyObject *timeout, double &seconds) {
    seconds = timeout == Py_None ? -1 : PyFloat_Check(timeout) ? PyFloat_AS_DOUBLE(timeout) : PyLong_CheckExact(timeout) ? PyLong_AsDouble(timeout) : NAN;
    if (PyErr_Occurred()) PyErr_Clear();
    return timeout == Py_None || seconds >= 0;
}

// Model: tests/models/signal.pml.
template <bool gives_value>
PyObject *wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, PyObject *timeout) {
    Variable v;
    double limit;
    if (!variable_of(ivar, compare, value, index, v) || !seconds_of(timeout, limit)) return not_implemented();
    const Outcome outcome = with_word(v.type, [&](auto zero) {
        const auto holds = [&] { return v.holds<decltype(zero)>(); };
        return holds() ? Satisfied : poll(holds, [] { return heap().status.has_lost(); }, limit);
    });
    if (outcome == Interrupted) return nullptr;
    if (outcome != Satisfied) return unsatisfied(outcome, {All, index, load_scalar(v.seen, v.type), compare, value, timeout});
    if (gives_value) return load_scalar(v.seen, v.type);
    Py_RETURN_NONE;
}

template PyObject *wait_until<false>(PyObject *, PyObject *, PyObject *, PyObject *, PyObject *);
template PyObject *wait_until<true>(PyObject *, PyObject *, PyObject *, PyObject *, PyObject *);

PyObject *test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index) {
    Variable v;
    if (!variable_of(ivar, compare, value, index, v)) return not_implemented();
    if (network_engine()) network_engine()->drive();
    return PyBool_FromLong(with_word(v.type, [&](auto zero) { return v.holds<decltype(zero)>(); }));
}

PyObject *signal_fetch(PyObject *sig_addr, PyObject *index) {
    View view;
    const char *at = heap().element(sig_addr, heap().me, index, view);
    if (!at || !is_word(view.type)) return not_implemented();
    return with_word(view.type, [&](auto value) {
        value = __atomic_load_n(reinterpret_cast<const decltype(value) *>(at), __ATOMIC_ACQUIRE);
        return load_scalar(&value, view.type);
    });
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
