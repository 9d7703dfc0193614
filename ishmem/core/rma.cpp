// put, get, p and g on the mapped heaps. They return false or NotImplemented for arguments that
// the fast path does not support: see operations.hpp.
#include <cstring>

#include "late_delivery.hpp"
#include "private_memory.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

void move_block(char *to, const char *from, size_t bytes, size_t item) {
    if (bytes == item) store_element(to, from, item);
    else std::memmove(to, from, bytes);
}

// Host address of the range of this PE's array; null when it has none or the copy engine should copy it. It is the device
// address when MPI takes that for the messages to or from `remote`, of which each has `size` bytes.
char *own(const View &view, size_t bytes, Access access, const char *remote, size_t size, size_t messages) {
    if (char *place = heap().local(view, bytes)) return place;
    const bool far = is_far(remote) && !is_held(remote), direct = far && engine()->is_direct(size);
    if (far && !direct && access == Access::Read && size >= heap().cutover) return nullptr;
    if (!direct) return private_memory().place(view.address, bytes, access);
    engine()->count_direct(messages);
    return view.address;
}

}  // namespace

bool find_ends(const ArrayRange &to, const ArrayRange &from, Py_ssize_t pe, bool is_put, size_t size, size_t messages, char *&target,
               const char *&origin) {
    const ArrayRange &far = is_put ? to : from, &near = is_put ? from : to;
    char *remote = heap().remote(far.view, far.bytes, pe);
    if (!remote) return false;
    char *local = own(near.view, near.bytes, is_put ? Access::Read : Access::Write, remote, size, messages);
    target = is_put ? remote : local;
    origin = is_put ? local : remote;
    return local;
}

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

namespace {

bool read(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, Operands &t) {
    if (!view_of(dest, t.to, &t.to_shape) || !view_of(source, t.from, &t.from_shape) || !integer_of(pe, t.pe)) return false;
    return fit(t.to, t.from) && count_of(nelems, t.to, t.from, t.count);
}

bool plan(const Operands &t, bool is_put, Copy &copy) {
    copy.item = t.to.item;
    copy.bytes = t.count * copy.item;
    if ((t.to.device || t.from.device) && copy.bytes >= heap().cutover_to(t.pe)) return false;
    return find_ends({t.to, copy.bytes}, {t.from, copy.bytes}, t.pe, is_put, copy.bytes, 1, copy.to, copy.from);
}

}  // namespace

bool plan_put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, Copy &copy) {
    Operands t;
    return read(dest, source, pe, nelems, t) && are_contiguous(t.to, t.from) && plan(t, true, copy);
}

namespace {

bool run_far(const Copy &copy, PyObject *local, bool nbi) {
    if (is_held(copy.to)) {
        char *from = const_cast<char *>(copy.from);
        if (nbi) late->put_nbi(copy.to, from, copy.bytes, local, nullptr, late->where("put_nbi"));
        else late->put(copy.to, copy.from, copy.bytes, copy.item, late->where("put"));
        return true;
    }
    if (is_far(copy.to)) return remote_put(copy.to, copy.from, copy.bytes, local, nbi);
    if (!is_held(copy.from)) return remote_get(copy.to, copy.from, copy.bytes, local, nbi);
    if (nbi) {
        late->get_nbi(copy.to, const_cast<char *>(copy.from), copy.bytes, local, nullptr, late->where("get_nbi"));
        return true;
    }
    const char *from = late->read(copy.from, copy.bytes, "get");
    if (is_far(from)) return remote_get(copy.to, from, copy.bytes, local);
    move_block(copy.to, from, copy.bytes, copy.item);
    return true;
}

}  // namespace

bool run(const Copy &copy, PyObject *local, bool nbi) {
    if (copy.is_far()) return run_far(copy, local, nbi);
    if (copy.bytes < LONG) {
        move_block(copy.to, copy.from, copy.bytes, copy.item);
    } else {
        const PrivateMemory::Use use;
        Py_BEGIN_ALLOW_THREADS
        move_block(copy.to, copy.from, copy.bytes, copy.item);
        Py_END_ALLOW_THREADS
    }
    return true;
}

namespace {

Done move(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, bool is_put, bool nbi) {
    Operands t;
    Copy copy;
    if (!read(dest, source, pe, nelems, t)) return {false};
    if (!are_contiguous(t.to, t.from)) return {move_views(t, is_put)};
    return {plan(t, is_put, copy) && run(copy, is_put ? source : dest, nbi)};
}

}  // namespace

Done put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, true, false); }
Done get(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, false, false); }
Done put_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, true, true); }
Done get_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, false, true); }

namespace {

bool put_far(char *at, const char *element, size_t item) {
    if (!is_held(at)) return remote_put(at, element, item);
    late->put(at, element, item, item, late->where("p"));
    return true;
}

bool get_far(char *into, const char *at, size_t item) {
    if (is_held(at)) at = late->read(at, item, "g");
    if (is_far(at)) return remote_get(into, at, item);
    store_element(into, at, item);
    return true;
}

}  // namespace

Done p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index) {
    View view;
    alignas(16) char bytes[16];
    char *at = heap().element(dest, pe, index, view);
    if (!at || !view.writable || !store_scalar(value, view.type, bytes)) return {false};
    if (is_far(at)) return {put_far(at, bytes, view.item)};
    store_element(at, bytes, view.item);
    return {true};
}

PyObject *g(PyObject *source, PyObject *pe, PyObject *index) {
    View view;
    const char *at = heap().element(source, pe, index, view);
    alignas(16) char fetched[16];
    if (is_far(at)) at = get_far(fetched, at, view.item) ? fetched : nullptr;
    if (!at && PyErr_Occurred()) return nullptr;
    PyObject *value = at ? load_scalar(at, view.type) : nullptr;
    return value ? value : not_implemented();
}

}  // namespace ishmem
