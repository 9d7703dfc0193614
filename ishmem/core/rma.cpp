// put, get, p, g and the strided forms on the mapped heaps. They return false or NotImplemented for arguments that
// the fast path does not support: see operations.hpp.
#include <cstring>

#include "late.hpp"
#include "private_memory.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

constexpr size_t LONG = 256 << 10;  // from this many bytes on, some microseconds, the GIL is released during the copy

template <class Word>
void move_word(char *to, const char *from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    __atomic_store_n(reinterpret_cast<Word *>(to), word, __ATOMIC_RELAXED);
}

// Stores one element with a single store, so a reader never sees a torn value.
void move_element(char *to, const char *from, size_t item) {
    switch (item) {
        case 1: return move_word<uint8_t>(to, from);
        case 2: return move_word<uint16_t>(to, from);
        case 4: return move_word<uint32_t>(to, from);
        case 8: return move_word<uint64_t>(to, from);
        default: std::memcpy(to, from, item);
    }
}

void move_block(char *to, const char *from, size_t bytes, size_t item) {
    if (bytes == item) move_element(to, from, item);
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

// A range of an array.
struct Range {
    const View &view;
    size_t bytes;
};

// Finds the addresses of a put or get in `messages` of `size` bytes; false when one of them has none.
bool find_ends(const Range &to, const Range &from, Py_ssize_t pe, bool is_put, size_t size, size_t messages, char *&target, const char *&origin) {
    const Range &far = is_put ? to : from, &near = is_put ? from : to;
    char *remote = heap().remote(far.view, far.bytes, pe);
    if (!remote) return false;
    char *local = own(near.view, near.bytes, is_put ? Access::Read : Access::Write, remote, size, messages);
    target = is_put ? remote : local;
    origin = is_put ? local : remote;
    return local;
}

}  // namespace

bool fit(const View &dest, const View &source) {
    return dest.type == source.type && dest.type != Other && dest.order & source.order && dest.writable;
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

void store_element(char *to, const void *from, size_t item) { move_element(to, static_cast<const char *>(from), item); }

bool plan(PyObject *dest, PyObject *source, PyObject *pe_object, PyObject *nelems, bool is_put, Copy &copy) {
    View to, from;
    Py_ssize_t pe;
    size_t count;
    if (!view_of(dest, to) || !view_of(source, from) || !integer_of(pe_object, pe)) return false;
    if (!fit(to, from) || !count_of(nelems, to, from, count)) return false;
    if ((to.device || from.device) && count * to.item >= heap().cutover_to(pe)) return false;
    copy.bytes = count * to.item;
    copy.item = to.item;
    return find_ends({to, copy.bytes}, {from, copy.bytes}, pe, is_put, copy.bytes, 1, copy.to, copy.from);
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

Done put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) {
    Copy copy;
    return {plan(dest, source, pe, nelems, true, copy) && run(copy, source)};
}

Done get(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) {
    Copy copy;
    return {plan(dest, source, pe, nelems, false, copy) && run(copy, dest)};
}

Done put_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) {
    Copy copy;
    return {plan(dest, source, pe, nelems, true, copy) && run(copy, source, true)};
}

Done get_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) {
    Copy copy;
    return {plan(dest, source, pe, nelems, false, copy) && run(copy, dest, true)};
}

bool Blocks::reach(Py_ssize_t step, size_t &elements) const {
    if (size < 0 || count < 0 || step < 1 || step < size) return false;
    elements = 0;
    if (!size || !count) return true;
    size_t last;
    if (__builtin_mul_overflow(static_cast<size_t>(count - 1), static_cast<size_t>(step), &last)) return false;
    return !__builtin_add_overflow(last, static_cast<size_t>(size), &elements);
}

namespace {

bool strided_far(char *to, const char *from, const Blocks &blocks, size_t item) {
    const size_t bytes = static_cast<size_t>(blocks.size) * item;
    if (is_held(to)) {
        const size_t to_step = static_cast<size_t>(blocks.to_step) * item, from_step = static_cast<size_t>(blocks.from_step) * item;
        const Steps steps = {to_step, from_step, static_cast<size_t>(blocks.count)};
        late->put_blocks(to, from, bytes, item, steps, late->where("put with steps"));
        return true;
    }
    Gets gets;
    for (Py_ssize_t i = 0; i < blocks.count && bytes; ++i) {
        char *target = to + static_cast<size_t>(i * blocks.to_step) * item;
        const char *origin = from + static_cast<size_t>(i * blocks.from_step) * item;
        if (is_held(from)) origin = late->read(origin, bytes, "get with steps");
        if (is_far(to) ? !remote_put(target, origin, bytes) : !gets.start(target, origin, bytes)) return false;
    }
    return gets.await() == Satisfied;
}

}  // namespace

bool strided(PyObject *dest, PyObject *source, PyObject *dst, PyObject *sst, PyObject *bsize, PyObject *nblocks,
             PyObject *pe_object, bool is_put) {
    View to, from;
    Py_ssize_t pe;
    Blocks blocks;
    if (!integer_of(dst, blocks.to_step) || !integer_of(sst, blocks.from_step)) return false;
    if (!integer_of(bsize, blocks.size) || !integer_of(nblocks, blocks.count)) return false;
    size_t reach_to, reach_from;
    if (!view_of(dest, to) || !view_of(source, from) || !integer_of(pe_object, pe)) return false;
    if (to.type != from.type || to.type == Other || !(to.order & from.order & 1) || !to.writable) return false;
    if (!blocks.reach(blocks.to_step, reach_to) || !blocks.reach(blocks.from_step, reach_from)) return false;
    if (reach_to > to.count || reach_from > from.count) return false;
    const size_t item = to.item, bytes = static_cast<size_t>(blocks.size) * item;
    if ((to.device || from.device) && bytes >= heap().cutover_to(pe)) return false;
    char *target;
    const char *origin;
    if (!find_ends({to, reach_to * item}, {from, reach_from * item}, pe, is_put, bytes, static_cast<size_t>(blocks.count), target, origin))
        return false;
    if (is_far(target) || is_far(origin)) return strided_far(target, origin, blocks, item);
    const auto all = [&] {
        if (blocks.to_step == blocks.size && blocks.from_step == blocks.size)
            return move_block(target, origin, bytes * static_cast<size_t>(blocks.count), item);
        const size_t to_step = static_cast<size_t>(blocks.to_step) * item, from_step = static_cast<size_t>(blocks.from_step) * item;
        for (Py_ssize_t i = 0; i < blocks.count && bytes; ++i, target += to_step, origin += from_step)
            move_block(target, origin, bytes, item);
    };
    if (bytes * static_cast<size_t>(blocks.count) < LONG) {
        all();
    } else {
        const PrivateMemory::Use use;
        Py_BEGIN_ALLOW_THREADS
        all();
        Py_END_ALLOW_THREADS
    }
    return true;
}

namespace {

bool put_far(char *at, const char *element, size_t item) {
    if (!is_held(at)) return remote_put(at, element, item);
    late->put(at, element, item, item, late->where("p"));
    return true;
}

bool get_far(char *into, const char *at, size_t item) {
    if (is_held(at)) at = late->read(at, item, "g");
    if (is_far(at)) return remote_get(into, at, item);
    move_element(into, at, item);
    return true;
}

}  // namespace

Done p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index) {
    View view;
    alignas(16) char bytes[16];
    char *at = heap().element(dest, pe, index, view);
    if (!at || !view.writable || !store_scalar(value, view.type, bytes)) return {false};
    if (is_far(at)) return {put_far(at, bytes, view.item)};
    move_element(at, bytes, view.item);
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
