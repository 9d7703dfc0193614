// Atomic operations on mapped memory. They are relaxed, as in kernels; fence and quiet order them.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "late_delivery.hpp"
#include "python_calls.hpp"
#include "reach.hpp"
#include "unfinished_work.hpp"

namespace ishmem {
namespace {

template <class Word>
using Signed = std::make_signed_t<Word>;
template <class Word>
using Float = std::conditional_t<sizeof(Word) == 8, double, float>;

struct Sum { template <class T> T operator()(T a, T b) const { return a + b; } };
// The result is NaN when either operand is NaN.
struct Least { template <class T> T operator()(T a, T b) const { return b < a || b != b ? b : a; } };
struct Greatest { template <class T> T operator()(T a, T b) const { return b > a || b != b ? b : a; } };

// Combines an element, whose bits are a `Number`, with `value` by compare-and-swap; returns the old bits.
template <class Number, class Combine, class Word>
Word combine(Word *at, Word value) {
    Number operand;
    std::memcpy(&operand, &value, sizeof operand);
    Word old = __atomic_load_n(at, __ATOMIC_RELAXED), next;
    do {
        Number number;
        std::memcpy(&number, &old, sizeof number);
        number = Combine()(number, operand);
        std::memcpy(&next, &number, sizeof next);
    } while (!__atomic_compare_exchange_n(at, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

template <class Word>
Word apply(int rmw, Word *at, Word value, Word cond) {
    switch (static_cast<Rmw>(rmw)) {  // numbered by ishmem/common/type_tables.py
        case Fetch: return __atomic_load_n(at, __ATOMIC_RELAXED);
        case Swap: return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
        case Add: return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
        case And: return __atomic_fetch_and(at, value, __ATOMIC_RELAXED);
        case Or: return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
        case Xor: return __atomic_fetch_xor(at, value, __ATOMIC_RELAXED);
        case AddFloat: return combine<Float<Word>, Sum>(at, value);
        case Min: return combine<Signed<Word>, Least>(at, value);
        case MinUnsigned: return combine<Word, Least>(at, value);
        case MinFloat: return combine<Float<Word>, Least>(at, value);
        case Max: return combine<Signed<Word>, Greatest>(at, value);
        case MaxUnsigned: return combine<Word, Greatest>(at, value);
        case MaxFloat: return combine<Float<Word>, Greatest>(at, value);
        case CompareSwap:
            __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
            return cond;  // the old value, also where it differs
    }
    abort();  // no number of Rmw
}

constexpr unsigned SLEEP = 20;  // microseconds between two attempts to take a lock

// Without the interpreter's lock: a thread of Python learns who is lost.
void wait_for_lock() {
    PyThreadState *held = PyGILState_Check() ? PyEval_SaveThread() : nullptr;
    usleep(SLEEP);
    if (held) PyEval_RestoreThread(held);
}

// The word is 1 plus the PE that holds the lock. False when a PE is lost, which may hold it.
bool take(int64_t *lock) {
    const Heap &h = heap();
    for (int64_t holder = 0; !__atomic_compare_exchange_n(lock, &holder, h.me + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);) {
        if (h.status.survives_losses && holder && h.status.dead[static_cast<size_t>(holder - 1)]) continue;  // takes its place
        if (h.status.has_lost()) return false;
        wait_for_lock();
        holder = 0;
    }
    return true;
}

uint64_t apply(int rmw, char *at, size_t item, uint64_t value, uint64_t cond) {
    if (item == 8) return apply(rmw, reinterpret_cast<uint64_t *>(at), value, cond);
    return apply(rmw, reinterpret_cast<uint32_t *>(at), static_cast<uint32_t>(value), static_cast<uint32_t>(cond));
}

// The operation on elements of a type.
int of_type(int rmw, Type type) {
    const bool is_float = type == F32 || type == F64;
    if (rmw == Add && is_float) return AddFloat;
    if (rmw != Min && rmw != Max) return rmw;
    return is_float ? rmw + MinFloat - Min : type == U32 || type == U64 ? rmw + MinUnsigned - Min : rmw;
}

PyObject *given_back(bool result, const void *old, Type type) {
    if (result) return load_scalar(old, type);
    Py_RETURN_NONE;
}

PyObject *run_by_kernel(int rmw, bool result, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond) {
    PyObject *old = atomic_by_kernel(rmw, target, pe, index, value, cond);
    if (!old || result) return old;
    Py_DECREF(old);
    Py_RETURN_NONE;
}

PyObject *run_far(int rmw, bool result, char *at, const View &view, uint64_t value, uint64_t cond) {
    uint64_t old = 0;
    const Reach &reach = reach_of(at);
    const bool done = result ? reach.fetching_atomic(at, rmw, view.item, value, cond, old) : reach.atomic(at, rmw, view.item, value);
    if (!done) return PyErr_Occurred() ? nullptr : not_implemented();
    return given_back(result, &old, view.type);
}

// Works on the bit pattern, so one implementation serves signed, unsigned and floating-point types.
template <class Word>
PyObject *run(int rmw, bool result, char *at, Type type, uint64_t operand, uint64_t expected) {
    if (!heap().host_atomics || !heap().locks.empty()) {
        uint64_t old = 0;
        if (!update_element(rmw, at, sizeof(Word), operand, expected, result ? &old : nullptr)) return not_implemented();
        return given_back(result, &old, type);
    }
    const Word old = apply(rmw, reinterpret_cast<Word *>(at), static_cast<Word>(operand), static_cast<Word>(expected));
    return given_back(result, &old, type);
}

}  // namespace

bool update_element(int rmw, char *at, size_t item, uint64_t value, uint64_t cond, uint64_t *old) {
    int64_t *lock = heap().lock_of(at);
    if (lock && !take(lock)) return false;
    if (old) *old = apply(rmw, at, item, value, cond);
    else if (rmw == Swap) store_element(at, &value, item);
    else apply(rmw, at, item, value, cond);
    if (lock || !heap().host_atomics) __atomic_thread_fence(__ATOMIC_SEQ_CST);  // the store leaves the processor first
    if (lock) __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    return true;
}

bool host_updates(const View &view, const char *at, int rmw, bool result) {
    if (!view.device || heap().host_atomics || !host_reaches(at) || heap().lock_of(at)) return true;
    return rmw == Fetch || (rmw == Swap && !result);
}

PyObject *atomic(PyObject *bound, PyObject *const *given, Py_ssize_t count) {
    static PyObject *const relaxed = PyLong_FromLong(0), *const one = PyLong_FromLong(1);
    if (!settle_submitted()) return nullptr;
    const long code = PyLong_AsLong(bound), types = code >> 8 & 0xFFFF;
    const Py_ssize_t operands = code >> 24;
    if (count > operands + 3 && given[operands + 3] != relaxed) return not_implemented();
    PyObject *target = given[0], *pe = given[operands + 1], *index = given[operands + 2];
    PyObject *value = operands ? given[operands] : one, *cond = operands == 2 ? given[1] : Py_None;
    const bool result = !(code & NO_RESULT);
    View view;
    char *at = heap().element(target, pe, index, view);
    if (!at || view.type == Other || !(types >> view.type & 1)) return not_implemented();
    const int asked = static_cast<int>(code & (NO_RESULT - 1)), rmw = of_type(asked, view.type);
    uint64_t operand = 0, expected = 0;
    if (rmw != Fetch && !store_scalar(value, view.type, &operand)) return not_implemented();
    if (rmw == CompareSwap && !store_scalar(cond, view.type, &expected)) return not_implemented();
    if (!host_updates(view, at, rmw, result)) return run_by_kernel(asked, result, target, pe, index, value, cond);
    if (is_far(at)) return run_far(rmw, result, at, view, operand, expected);
    return view.item == 8 ? run<uint64_t>(rmw, result, at, view.type, operand, expected)
                          : run<uint32_t>(rmw, result, at, view.type, operand, expected);
}

}  // namespace ishmem
