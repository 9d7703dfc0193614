#include "heap.hpp"

#include <iterator>

namespace ishmem {

Heap &heap() {
    static Heap &only = *new Heap;  // never destroyed: threads may still poll it when the interpreter ends
    return only;
}

ptrdiff_t Heap::offset_of(const char *address, size_t bytes) const {
    if (address < base || address >= base + size) return -1;
    const size_t offset = static_cast<size_t>(address - base);
    auto next = live.upper_bound(offset);
    if (next == live.begin()) return -1;
    return offset + bytes <= std::prev(next)->second ? static_cast<ptrdiff_t>(offset) : -1;
}

char *Heap::static_of(const char *address, size_t bytes, Py_ssize_t pe) const {
    auto next = statics.upper_bound(address);
    if (next == statics.begin() || pe < 0 || pe >= n_pes) return nullptr;
    const auto &[own, object] = *std::prev(next);
    const size_t offset = static_cast<size_t>(address - own);
    return offset + bytes <= object.size ? object.mapped[static_cast<size_t>(pe)] + offset : nullptr;
}

char *Heap::local(const View &view, size_t bytes) const {
    if (!view.device) return view.address;
    const ptrdiff_t offset = offset_of(view.address, bytes);
    return offset < 0 ? nullptr : mapped[me] + offset;
}

char *Heap::remote(const View &view, size_t bytes, Py_ssize_t pe) const {
    if (!view.device) return static_of(view.address, bytes, pe);
    if (pe < 0 || pe >= n_pes) return nullptr;
    const ptrdiff_t offset = offset_of(view.address, bytes);
    return offset < 0 || !mapped[pe] ? nullptr : mapped[pe] + offset;
}

bool integer_of(PyObject *object, Py_ssize_t &value) {
    value = PyNumber_AsSsize_t(object, nullptr);
    if (value != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

char *Heap::element(PyObject *array, PyObject *pe_object, PyObject *index_object, View &view) const {
    Py_ssize_t pe, index;
    if (!view_of(array, view) || !integer_of(pe_object, pe) || !integer_of(index_object, index)) return nullptr;
    if (!(view.order & 1) || index < 0 || static_cast<size_t>(index) >= view.count) return nullptr;
    char *first = remote(view, view.bytes(), pe);
    return first ? first + static_cast<size_t>(index) * view.item : nullptr;
}

}  // namespace ishmem
