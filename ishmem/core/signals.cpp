// put_signal on mapped memory; the other signal operations are atomics and waits.
#include "late_delivery.hpp"
#include "python_calls.hpp"
#include "reach.hpp"

namespace ishmem {
namespace {

// The update of a signal, with checked arguments.
struct Signal {
    View view;
    char *at;
    uint64_t value = 0;
    Py_ssize_t rmw;
};

bool signal_of(PyObject *sig_addr, PyObject *signal, PyObject *sig_op, PyObject *pe, PyObject *index, Signal &s) {
    s.at = heap().element(sig_addr, pe, index, s.view);
    if (!s.at || !is_word(s.view.type) || !integer_of(sig_op, s.rmw) || (s.rmw != SIGNAL_SET && s.rmw != SIGNAL_ADD)) return false;
    s.rmw = s.rmw == SIGNAL_ADD ? Add : Swap;
    return store_scalar(signal, s.view.type, &s.value);
}

// Stores of the copy engine may be on their way to the other device: a read from its memory completes after them.
void read_back(const char *at) { static_cast<void>(*const_cast<const volatile char *>(at)); }

}  // namespace

// Model: tests/models/signal.pml.
template <bool nbi>
Done put_signal(PyObject *dest, PyObject *source, PyObject *sig_addr, PyObject *signal, PyObject *sig_op, PyObject *pe,
                PyObject *nelems, PyObject *index) {
    Operands operands;
    Signal s;
    if (!signal_of(sig_addr, signal, sig_op, pe, index, s) || !read_operands(dest, source, pe, nelems, operands)) return {false};
    const int rmw = static_cast<int>(s.rmw);
    const Reach *reach = is_far(s.at) ? &reach_of(s.at) : nullptr;
    const uint64_t mark = reach ? reach->mark() : 0;
    const bool pending = nbi && reach;
    const CopyResult made = move(operands, true, {source, pending, pending ? "put_nbi" : "put"});
    if (!complete(made, false)) return {false};
    if (!host_updates(s.view, s.at, rmw, false)) {
        fence();
        if (late) late->complete();  // the kernel acts on memory at once
        PyObject *old = atomic_by_kernel(rmw, sig_addr, pe, index, signal, Py_None);
        Py_XDECREF(old);
        return {old != nullptr};
    }
    if (reach) return {reach->signal(s.at, rmw, s.view.item, s.value, mark)};
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (made == CopyResult::ByEngine) read_back(s.at);
    update_element(rmw, s.at, s.view.item, s.value, 0, nullptr);  // in vain when a PE is lost: the next wait tells
    return {true};
}

template Done put_signal<false>(PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *);
template Done put_signal<true>(PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *, PyObject *);

bool host_signals(PyObject *sig_addr, PyObject *signal, PyObject *sig_op, PyObject *pe, PyObject *index) {
    Signal s;
    return signal_of(sig_addr, signal, sig_op, pe, index, s) && host_updates(s.view, s.at, static_cast<int>(s.rmw), false);
}

}  // namespace ishmem
