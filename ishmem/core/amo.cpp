// Atomic operations on mapped memory, relaxed as in kernels: fence and quiet order them.
#include "operations.hpp"

namespace ishmem {
namespace {

template <class Word>
Word apply(int rmw, Word *at, Word value, Word cond) {
    switch (rmw) {
        case Fetch: return __atomic_load_n(at, __ATOMIC_RELAXED);
        case Swap: return __atomic_exchange_n(at, value, __ATOMIC_RELAXED);
        case Add: return __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
        case And: return __atomic_fetch_and(at, value, __ATOMIC_RELAXED);
        case Or: return __atomic_fetch_or(at, value, __ATOMIC_RELAXED);
        case Xor: return __atomic_fetch_xor(at, value, __ATOMIC_RELAXED);
        default: break;
    }
    __atomic_compare_exchange_n(at, &cond, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return cond;  // now the old value, whether it was exchanged or not
}

// Works on the bits, so that one code serves signed, unsigned and floating-point types.
template <class Word>
PyObject *run(int rmw, char *at, Type type, PyObject *value, PyObject *cond) {
    alignas(16) Word operand = 0, expected = 0;
    if (rmw != Fetch && !store_scalar(value, type, &operand)) return not_implemented();
    if (rmw == CompareSwap && !store_scalar(cond, type, &expected)) return not_implemented();
    const Word old = apply(rmw, reinterpret_cast<Word *>(at), operand, expected);
    return load_scalar(&old, type);
}

}  // namespace

uint64_t update_element(int rmw, char *at, size_t item, uint64_t value, uint64_t cond) {
    if (item == 8) return apply(rmw, reinterpret_cast<uint64_t *>(at), value, cond);
    return apply(rmw, reinterpret_cast<uint32_t *>(at), static_cast<uint32_t>(value), static_cast<uint32_t>(cond));
}

PyObject *atomic(long code, PyObject *target, PyObject *pe, PyObject *index, PyObject *value, PyObject *cond) {
    const int rmw = static_cast<int>(code & 0xff);
    const long types = code >> 8;
    View view;
    char *at = heap().element(target, pe, index, view);
    if (!at || (view.device && !heap().host_atomics) || view.type == Other || !(types >> view.type & 1)) return not_implemented();
    return view.item == 8 ? run<uint64_t>(rmw, at, view.type, value, cond)
                          : run<uint32_t>(rmw, at, view.type, value, cond);
}

}  // namespace ishmem
