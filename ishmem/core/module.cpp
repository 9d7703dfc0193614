// The Python module ishmem._core: thin bindings of operations.hpp and the state they work on.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <limits>
#include <stdexcept>

#include "operations.hpp"

namespace nb = nanobind;
using namespace ishmem;

namespace {

void configure(int me, uintptr_t base, size_t size, const std::vector<uintptr_t> &mapped, size_t sync_offset,
               size_t cutover, bool host_atomics) {
    Heap &h = heap();
    h.me = me;
    h.base = reinterpret_cast<char *>(base);
    h.size = size;
    h.mapped.clear();
    for (uintptr_t address : mapped) h.mapped.push_back(reinterpret_cast<char *>(address));
    h.sync_offset = sync_offset;
    h.cutover = cutover;
    h.host_atomics = host_atomics;
    h.n_pes = static_cast<int>(mapped.size());
}

void reset() {
    Heap &h = heap();
    h.n_pes = 0;
    h.base = nullptr;
    h.size = 0;
    h.mapped.clear();
    h.live.clear();
}

char *raw(int pe, size_t offset, size_t bytes) {
    Heap &h = heap();
    if (pe < 0 || pe >= h.n_pes || offset + bytes > h.size) throw std::out_of_range("not in the heap");
    return h.mapped[pe] + offset;
}

void write_bytes(int pe, size_t offset, const nb::bytes &data) { std::memcpy(raw(pe, offset, data.size()), data.c_str(), data.size()); }

nb::bytes read_bytes(int pe, size_t offset, size_t bytes) { return nb::bytes(raw(pe, offset, bytes), bytes); }

// (address, elements, bytes of one, contiguous orders, writable, on the device), or None for what is not an array.
nb::object describe(nb::handle array) {
    View v;
    if (!view_of(array.ptr(), v)) return nb::none();
    return nb::make_tuple(reinterpret_cast<uintptr_t>(v.address), v.count, v.item, v.order, v.writable, v.device);
}

int finish(Outcome outcome) {
    if (outcome == Interrupted) throw nb::python_error();
    return outcome;
}

}  // namespace

NB_MODULE(_core, m) {
    const auto any = nb::arg().none();  // None too: Python explains what is wrong with it
    m.doc() = "The host's hot path: loads, stores, copies, atomics and waits on mapped heaps.";
    m.def("configure", &configure);
    m.def("reset", &reset);
    m.def("add_live", [](size_t offset, size_t bytes) { heap().live[offset] = offset + bytes; });
    m.def("remove_live", [](size_t offset) { heap().live.erase(offset); });
    m.def("offset_of", [](uintptr_t address, size_t bytes) {
        return heap().offset_of(reinterpret_cast<const char *>(address), bytes);
    });
    m.def("set_lost", [](int pe) { heap().lost = pe; });
    m.def("set_left", [](int pe) { heap().left = pe; });
    m.def("write", &write_bytes);
    m.def("read", &read_bytes);
    m.def("describe", &describe, any);
    m.def("put", [](nb::handle dest, nb::handle source, nb::handle pe, nb::handle nelems) {
        return transfer(dest.ptr(), source.ptr(), pe.ptr(), nelems.ptr(), true);
    }, any, any, any, any);
    m.def("get", [](nb::handle dest, nb::handle source, nb::handle pe, nb::handle nelems) {
        return transfer(dest.ptr(), source.ptr(), pe.ptr(), nelems.ptr(), false);
    }, any, any, any, any);
    m.def("p", [](nb::handle dest, nb::handle value, nb::handle pe, nb::handle index) {
        return p(dest.ptr(), value.ptr(), pe.ptr(), index.ptr());
    }, any, any, any, any);
    m.def("g", [](nb::handle source, nb::handle pe, nb::handle index) { return nb::steal(g(source.ptr(), pe.ptr(), index.ptr())); }, any, any, any);
    m.def("atomic", [](int rmw, uint32_t types, nb::handle target, nb::handle pe, nb::handle index, nb::handle value, nb::handle cond) {
        return nb::steal(atomic(rmw, types, target.ptr(), pe.ptr(), index.ptr(), value.ptr(), cond.ptr()));
    }, nb::arg(), nb::arg(), any, any, any, any, any);
    m.def("wait_until", [](nb::handle ivar, nb::handle compare, nb::handle value, nb::handle index, double timeout) {
        return finish(wait_until(ivar.ptr(), compare.ptr(), value.ptr(), index.ptr(), timeout));
    }, any, any, any, any, nb::arg());
    m.def("test", [](nb::handle ivar, nb::handle compare, nb::handle value, nb::handle index) {
        return static_cast<int>(test(ivar.ptr(), compare.ptr(), value.ptr(), index.ptr()));
    }, any, any, any, any);
    m.def("fence", &fence);
    m.def("barrier", [](double timeout) { return finish(barrier(timeout)); });
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("TIMED_OUT") = static_cast<int>(TimedOut);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("BAD_ARGUMENTS") = static_cast<int>(BadArguments);
}
