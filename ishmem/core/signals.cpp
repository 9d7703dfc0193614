// put_signal on mapped memory; the other signal operations are atomics and waits.
#include "late.hpp"
#include "remote.hpp"

namespace ishmem {

// Model: tests/models/signal.pml.
bool put_signal(PyObject *dest, PyObject *source, PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe,
                PyObject *nelems, PyObject *index, bool nbi) {
    Copy copy;
    View view;
    uint64_t value;
    char *at = heap().element(sig_addr, pe, index, view);
    if (!at || (view.device && !heap().host_atomics && is_near(at)) || view.type != U64 || !store_scalar(signal, U64, &value)) return false;
    if (!plan(dest, source, pe, nelems, true, copy)) return false;
    if (is_held(at)) {
        const uint64_t mark = late->mark();
        if (!run(copy, source, nbi)) return false;
        late->signal(at, add ? Add : Swap, value, mark, late->where("put_signal"));
        return true;
    }
    if (is_far(at)) return run(copy, source, nbi) && remote_update(at, add ? Add : Swap, sizeof value, value);
    run(copy, source);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    uint64_t *word = reinterpret_cast<uint64_t *>(at);
    if (add) __atomic_fetch_add(word, value, __ATOMIC_RELAXED);
    else __atomic_store_n(word, value, __ATOMIC_RELAXED);
    return true;
}

bool signal_late(PyObject *sig_addr, PyObject *signal, bool add, PyObject *pe, PyObject *index, uint64_t since) {
    View view;
    uint64_t value;
    char *at = heap().element(sig_addr, pe, index, view);
    if (!is_held(at) || (!heap().host_atomics && is_near(at)) || !store_scalar(signal, U64, &value)) return false;
    late->signal(at, add ? Add : Swap, value, since, late->where("put_signal"));
    return true;
}

}  // namespace ishmem
