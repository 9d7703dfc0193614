// put, get, p and g on the mapped heaps. They return false or NotImplemented for arguments that the core does not
// support: see operations.hpp.
#include <cstring>

#include "python_calls.hpp"
#include "reach.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

// Host address of the range of this PE's array; null when the copy engine should copy it. It is the device address when
// MPI takes that for the messages to or from `remote`, of which each has `size` bytes.
char *host_address(const View &view, size_t bytes, Access access, const char *remote, size_t size, size_t messages) {
    if (char *address = heap().local(view, bytes)) return address;
    const bool far = is_far(remote) && &reach_of(remote) == &by_network, direct = far && network_engine()->is_direct(size);
    if (far && !direct && access == Access::Read && size >= heap().cutover) return nullptr;
    if (!direct) {
        char *address = private_memory().host_address(view.address, bytes, access);
        return address || !map_private(view.address, size, access) ? address : private_memory().host_address(view.address, bytes, access);
    }
    network_engine()->count_direct(messages);
    return view.address;
}

}  // namespace

bool find_addresses(const ArrayRange &to, const ArrayRange &from, Py_ssize_t pe, bool is_put, size_t size, size_t messages, CopyAddresses &addresses) {
    const ArrayRange &remote_range = is_put ? to : from, &local_range = is_put ? from : to;
    char *remote = heap().remote(remote_range.view, remote_range.bytes, pe);
    if (!remote) return false;
    const bool large = (to.view.device || from.view.device) && size >= heap().cutover_to(pe);
    char *local = large ? nullptr : host_address(local_range.view, local_range.bytes, is_put ? Access::Read : Access::Write, remote, size, messages);
    addresses.by_copy_engine = !local;
    if (!local) local = local_range.view.address, remote = heap().copy_engine_address(remote_range.view, remote_range.bytes, pe);
    addresses.to = is_put ? remote : local;
    addresses.from = is_put ? local : remote;
    return !addresses.by_copy_engine || !PyErr_Occurred();
}

bool count_of(PyObject *nelems, const View &dest, const View &source, size_t &count) {
    if (nelems == Py_None) {
        count = source.count;
        return dest.count == count;
    }
    Py_ssize_t asked;
    if (!integer_of(nelems, asked) || asked < 0) return false;
    count = static_cast<size_t>(asked);
    return count <= dest.count && count <= source.count;
}

bool read_operands(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, Operands &operands) {
    if (!view_of(dest, operands.to, &operands.to_shape) || !view_of(source, operands.from, &operands.from_shape) || !integer_of(pe, operands.pe)) return false;
    return fit(operands.to, operands.from) && count_of(nelems, operands.to, operands.from, operands.count);
}

namespace {

void move_near(const Copy &copy) {
    if (copy.bytes < LONG) return move_block(copy.to, copy.from, copy.bytes, copy.item);
    const PrivateMemory::Use use;
    Py_BEGIN_ALLOW_THREADS
    move_block(copy.to, copy.from, copy.bytes, copy.item);
    Py_END_ALLOW_THREADS
}

// Copies between addresses of the host.
bool run(const Copy &copy, const Caller &caller) {
    if (!is_far(copy.to) && !is_far(copy.from)) return move_near(copy), true;
    const PrivateMemory::Use use;
    return is_far(copy.to) ? reach_of(copy.to).put(copy, caller) : reach_of(copy.from).get(copy, caller);
}

}  // namespace

CopyResult move(const Operands &operands, bool is_put, const Caller &caller) {
    if (!are_contiguous(operands.to, operands.from)) return move_views(operands, is_put, caller);
    const size_t bytes = operands.count * operands.to.item;
    CopyAddresses addresses;
    if (!find_addresses({operands.to, bytes}, {operands.from, bytes}, operands.pe, is_put, bytes, 1, addresses)) return CopyResult::NotMade;
    if (addresses.by_copy_engine) return copy_by_engine(addresses.to, addresses.from, bytes, caller.local) ? CopyResult::ByEngine : CopyResult::NotMade;
    return run({addresses.to, addresses.from, bytes, operands.to.item}, caller) ? CopyResult::ByHost : CopyResult::NotMade;
}

bool complete(CopyResult made, bool nbi) { return made == CopyResult::ByEngine && !nbi ? complete_engine() : made != CopyResult::NotMade; }

namespace {

Done move(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems, bool is_put, bool nbi) {
    Operands operands;
    if (!read_operands(dest, source, pe, nelems, operands)) return {false};
    const char *routine = is_put ? (nbi ? "put_nbi" : "put") : (nbi ? "get_nbi" : "get");
    return {complete(move(operands, is_put, {is_put ? source : dest, nbi, routine}), nbi)};
}

}  // namespace

Done put(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, true, false); }
Done get(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, false, false); }
Done put_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, true, true); }
Done get_nbi(PyObject *dest, PyObject *source, PyObject *pe, PyObject *nelems) { return move(dest, source, pe, nelems, false, true); }

namespace {

bool store(char *at, const char *element, size_t item) {
    if (is_far(at)) return reach_of(at).put({at, element, item, item}, {nullptr, false, "p"});
    store_element(at, element, item);
    return true;
}

bool load(char *into, const char *at, size_t item) {
    if (is_far(at)) return reach_of(at).get({into, at, item, item}, {nullptr, false, "g"});
    store_element(into, at, item);
    return true;
}

Done move_element(PyObject *array, PyObject *host, PyObject *pe, PyObject *index, bool is_put) {
    View view, bytes;
    char *at = heap().element(array, pe, index, view);
    if (!at || !view_of(host, bytes) || bytes.device || bytes.bytes() != view.item) return {false};
    return {is_put ? store(at, bytes.address, view.item) : bytes.writable && load(bytes.address, at, view.item)};
}

}  // namespace

Done put_element(PyObject *dest, PyObject *host, PyObject *pe, PyObject *index) { return move_element(dest, host, pe, index, true); }
Done get_element(PyObject *source, PyObject *host, PyObject *pe, PyObject *index) { return move_element(source, host, pe, index, false); }

Done p(PyObject *dest, PyObject *value, PyObject *pe, PyObject *index) {
    View view;
    alignas(16) char bytes[16];
    char *at = heap().element(dest, pe, index, view);
    if (!at || !view.writable || !store_scalar(value, view.type, bytes)) return {false};
    return {store(at, bytes, view.item)};
}

PyObject *g(PyObject *source, PyObject *pe, PyObject *index) {
    View view;
    const char *at = heap().element(source, pe, index, view);
    alignas(16) char fetched[16];
    if (is_far(at)) at = load(fetched, at, view.item) ? fetched : nullptr;
    if (!at && PyErr_Occurred()) return nullptr;
    PyObject *value = at ? load_scalar(at, view.type) : nullptr;
    return value ? value : not_implemented();
}

}  // namespace ishmem
