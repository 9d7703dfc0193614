// put_signal on mapped memory; the other signal operations are atomics and waits.
#include "late_delivery.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

// The address of a signal on `pe`, and the value of its update; null when an argument is invalid or the host cannot
// update it.
char *signal_at(PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe, PyObject *index, View &view, uint64_t &value) {
    char *at = heap().element(sig_addr, pe, index, view);
    if (!at || !is_word(view.type) || !host_updates(view, at, add ? Add : Swap, false)) return nullptr;
    value = 0;
    return store_scalar(signal, view.type, &value) ? at : nullptr;
}

}  // namespace

bool host_signals(PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe, PyObject *index) {
    View view;
    uint64_t value;
    return signal_at(sig_addr, signal, add, pe, index, view, value);
}

// Model: tests/models/signal.pml.
bool put_signal(PyObject *dest, PyObject *source, PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe,
                PyObject *nelems, PyObject *index, bool nbi) {
    Copy copy;
    View view;
    uint64_t value;
    char *at = signal_at(sig_addr, signal, add, pe, index, view, value);
    if (!at || !plan_put(dest, source, pe, nelems, copy)) return false;
    if (is_held(at)) {
        const uint64_t mark = late->mark();
        if (!run(copy, source, nbi)) return false;
        late->signal(at, add ? Add : Swap, view.item, value, mark, late->where("put_signal"));
        return true;
    }
    if (is_far(at)) return run(copy, source, nbi) && remote_update(at, add ? Add : Swap, view.item, value);
    run(copy, source);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    update_element(add ? Add : Swap, at, view.item, value, 0, nullptr);  // in vain when a PE is lost: the next wait tells
    return true;
}

bool signal_late(PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe, PyObject *index, uint64_t since) {
    View view;
    uint64_t value;
    char *at = signal_at(sig_addr, signal, add, pe, index, view, value);
    if (!at || !is_held(at)) return false;
    late->signal(at, add ? Add : Swap, view.item, value, since, late->where("put_signal"));
    return true;
}

}  // namespace ishmem
