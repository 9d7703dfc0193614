// put, get, p and g through the mapped heaps. False, or NotImplemented, means: not the plain case, let Python decide.
#include <cstring>

#include "operations.hpp"

namespace ishmem {
namespace {

constexpr size_t LONG = 64 << 10;  // from here on other Python threads may run during the copy

bool count_of(PyObject *nelems, const View &dest, const View &source, size_t &count) {
    if (nelems == Py_None) {
        count = source.count;
        return dest.count == count;
    }
    const Py_ssize_t asked = PyNumber_AsSsize_t(nelems, nullptr);
    if (asked < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    count = static_cast<size_t>(asked);
    return count <= dest.count && count <= source.count;
}

template <class Word>
void move_word(char *to, const char *from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word *>(to), word, __ATOMIC_RELAXED);
}

// One element in one store, so that a reader never sees half of it.
void move_element(char *to, const char *from, size_t item) {
    switch (item) {
        case 1: return move_word<uint8_t>(to, from);
        case 2: return move_word<uint16_t>(to, from);
        case 4: return move_word<uint32_t>(to, from);
        case 8: return move_word<uint64_t>(to, from);
        default: std::memcpy(to, from, item);
    }
}

void copy(char *to, const char *from, size_t bytes, size_t item) {
    if (bytes == item) {
        move_element(to, from, item);
    } else if (bytes < LONG) {
        std::memmove(to, from, bytes);
    } else {
        Py_BEGIN_ALLOW_THREADS
        std::memmove(to, from, bytes);
        Py_END_ALLOW_THREADS
    }
}

}  // namespace

bool transfer(PyObject *dest, PyObject *source, PyObject *pe_object, PyObject *nelems, bool is_put) {
    View to, from;
    Py_ssize_t pe;
    size_t count;
    if (!view_of(dest, to) || !view_of(source, from) || !integer_of(pe_object, pe)) return false;
    if (to.type != from.type || to.type == Other || !(to.order & from.order) || !to.writable) return false;
    if (!count_of(nelems, to, from, count) || count * to.item >= heap().cutover) return false;
    const size_t bytes = count * to.item;
    char *target = is_put ? heap().remote(to, bytes, pe) : heap().local(to, bytes);
    const char *origin = is_put ? heap().local(from, bytes) : heap().remote(from, bytes, pe);
    if (!target || !origin) return false;
    copy(target, origin, bytes, to.item);
    return true;
}

bool p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index) {
    View view;
    alignas(16) char bytes[16];
    char *at = heap().element(dest, pe, index, view);
    if (!at || !view.writable || !store_scalar(value, view.type, bytes)) return false;
    move_element(at, bytes, view.item);
    return true;
}

PyObject *g(PyObject *source, PyObject *pe, PyObject *index) {
    View view;
    const char *at = heap().element(source, pe, index, view);
    PyObject *value = at ? load_scalar(at, view.type) : nullptr;
    return value ? value : not_implemented();
}

}  // namespace ishmem
