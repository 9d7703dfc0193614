// Waiting on this PE's own heap. Every failed poll yields the processor: with more PEs than cores that is
// what lets the awaited PE run, and with fewer it costs nothing that was measured.
#include <sched.h>

#include <chrono>

#include "operations.hpp"

namespace ishmem {
namespace {

using Clock = std::chrono::steady_clock;

template <class T>
bool compare(T seen, int how, T wanted) {
    switch (how) {
        case EQ: return seen == wanted;
        case NE: return seen != wanted;
        case GT: return seen > wanted;
        case GE: return seen >= wanted;
        case LT: return seen < wanted;
        default: return seen <= wanted;
    }
}

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
    switch (v.type) {
        case I32: return holds<int32_t>(v.at, v.how, v.wanted);
        case U32: return holds<uint32_t>(v.at, v.how, v.wanted);
        case I64: return holds<int64_t>(v.at, v.how, v.wanted);
        default: return holds<uint64_t>(v.at, v.how, v.wanted);
    }
}

bool variable_of(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, Variable &variable) {
    View view;
    Py_ssize_t how;
    PyObject *me = PyLong_FromLong(heap().me);
    variable.at = heap().element(ivar, me, index, view);
    Py_DECREF(me);
    if (!variable.at || !integer_of(compare, how) || how < EQ || how > LE) return false;
    variable.type = view.type;
    variable.how = static_cast<int>(how);
    if (view.type != I32 && view.type != U32 && view.type != I64 && view.type != U64) return false;
    return store_scalar(value, view.type, variable.wanted);
}

// Polls in slices of some milliseconds without the interpreter's lock, and lets signals in between.
template <class Done, class Hopeless>
Outcome poll(Done done, Hopeless hopeless, double timeout) {
    const auto start = Clock::now();
    const auto limit = start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout));
    for (;;) {
        bool satisfied = false, given_up = false, late = false;
        Py_BEGIN_ALLOW_THREADS
        const auto slice = Clock::now() + std::chrono::milliseconds(20);
        for (unsigned round = 1; !(satisfied = done()); ++round) {
            given_up = hopeless();
            if (given_up) break;
            sched_yield();
            if (round % 64) continue;
            const auto now = Clock::now();
            late = timeout >= 0 && now >= limit;
            if (late || now >= slice) break;
        }
        Py_END_ALLOW_THREADS
        if (satisfied || done()) return Satisfied;
        if (given_up) return Lost;
        if (late) return TimedOut;
        if (PyErr_CheckSignals() != 0) return Interrupted;
    }
}

uint64_t *line(char *mapped, unsigned round) {
    return reinterpret_cast<uint64_t *>(mapped + heap().sync_offset + 64 * round);
}

}  // namespace

Outcome wait_until(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index, double timeout) {
    Variable v;
    if (!variable_of(ivar, compare, value, index, v)) return BadArguments;
    const auto done = [&] { return holds(v); };
    for (int i = 0; i < 16; ++i)
        if (done()) return Satisfied;
    return poll(done, [] { return heap().lost.load() >= 0; }, timeout);
}

Outcome test(PyObject *ivar, PyObject *compare, PyObject *value, PyObject *index) {
    Variable v;
    if (!variable_of(ivar, compare, value, index, v)) return BadArguments;
    return holds(v) ? Satisfied : Failed;
}

void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// Dissemination: in round k a PE tells the one 2^k further on and waits for the one 2^k before it. The lines
// hold a number that only grows, so a fast PE never overtakes a reset.
Outcome barrier(double timeout) {
    static uint64_t sequence = 0;
    Heap &h = heap();
    ++sequence;
    unsigned round = 0;
    for (int distance = 1; distance < h.n_pes; distance *= 2, ++round) {
        const int peer = (h.me + distance) % h.n_pes;
        __atomic_store_n(line(h.mapped[peer], round), sequence, __ATOMIC_SEQ_CST);
        const uint64_t *mine = line(h.mapped[h.me], round);
        const auto done = [=] { return __atomic_load_n(mine, __ATOMIC_ACQUIRE) >= sequence; };
        const Outcome outcome = poll(done, [&] { return h.lost.load() >= 0 || h.left.load() >= 0; }, timeout);
        if (outcome != Satisfied) return outcome;
    }
    return Satisfied;
}

}  // namespace ishmem
