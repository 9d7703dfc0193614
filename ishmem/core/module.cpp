// The Python module ishmem._core: thin bindings of operations.hpp and the state they work on.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <signal.h>
#include <unistd.h>

#include <cstring>
#include <limits>
#include <stdexcept>

#include "operations.hpp"

namespace nb = nanobind;
using namespace ishmem;

namespace {

void configure(int me, uintptr_t base, size_t size, const std::vector<uintptr_t> &mapped, size_t cutover, bool host_atomics) {
    Heap &h = heap();
    h.me = me;
    h.base = reinterpret_cast<char *>(base);
    h.size = size;
    h.mapped.clear();
    for (uintptr_t address : mapped) h.mapped.push_back(reinterpret_cast<char *>(address));
    h.left = std::vector<std::atomic<bool>>(mapped.size());
    h.cutover = cutover;
    h.host_atomics = host_atomics;
    h.n_pes = static_cast<int>(mapped.size());
}

void configure_sync(size_t sync_offset, size_t sync_bytes, size_t farewell_offset) {
    Heap &h = heap();
    h.sync_offset = sync_offset;
    h.sync_bytes = sync_bytes;
    h.farewell_offset = farewell_offset;
}

Team &team(unsigned handle) {
    if (handle >= MAX_TEAMS) throw std::out_of_range("not a team");
    return heap().teams[handle];
}

void set_team(unsigned handle, int start, int stride, int size, int me, uint64_t sequence) {
    team(handle) = Team{start, stride, size, me, sequence};
}

void reset() {
    Heap &h = heap();
    h.n_pes = 0;
    h.base = nullptr;
    h.size = 0;
    h.mapped.clear();
    h.live.clear();
    h.status_call = nullptr;
    h.statics.clear();
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

// Makes a signal end the process with the status that comes with it, also while the interpreter's lock is held.
void exit_on(int number) {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t *info, void *) {
        if (info->si_code == SI_QUEUE) _exit(info->si_value.sival_int);
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(number, &action, nullptr);
}

int finish(Outcome outcome) {
    if (outcome == Interrupted) throw nb::python_error();
    return outcome;
}

nb::object steal(PyObject *result) {
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

}  // namespace

NB_MODULE(_core, m) {
    const auto any = nb::arg().none();  // None too: Python explains what is wrong with it
    m.doc() = "The host's hot path: loads, stores, copies, atomics and waits on mapped heaps.";
    m.def("configure", &configure);
    m.def("configure_sync", &configure_sync);
    m.def("watch_device", &watch_device);
    m.def("device_status", &device_status);
    m.def("reset", &reset);
    m.def("set_team", &set_team);
    m.def("team_sequence", [](unsigned handle) { return team(handle).sequence; });
    m.def("add_live", [](size_t offset, size_t bytes) { heap().live[offset] = offset + bytes; });
    m.def("remove_live", [](size_t offset) { heap().live.erase(offset); });
    m.def("offset_of", [](uintptr_t address, size_t bytes) {
        return heap().offset_of(reinterpret_cast<const char *>(address), bytes);
    });
    m.def("add_static", [](uintptr_t own, size_t bytes, const std::vector<uintptr_t> &mapped) {
        Static &object = heap().statics[reinterpret_cast<const char *>(own)];
        object.size = bytes;
        for (uintptr_t address : mapped) object.mapped.push_back(reinterpret_cast<char *>(address));
    });
    m.def("static_address", [](uintptr_t address, size_t bytes, int pe) {
        return reinterpret_cast<uintptr_t>(heap().static_of(reinterpret_cast<const char *>(address), bytes, pe));
    });
    m.def("set_lost", [](int pe) { heap().lost = pe; });
    m.def("set_left", &set_left);
    m.def("say_farewell", &say_farewell);
    m.def("exit_on", &exit_on);
    m.def("write", &write_bytes);
    m.def("read", &read_bytes);
    m.def("describe", &describe, any);
    m.def("put", [](nb::handle dest, nb::handle source, nb::handle pe, nb::handle nelems) {
        return transfer(dest.ptr(), source.ptr(), pe.ptr(), nelems.ptr(), true);
    }, any, any, any, any);
    m.def("get", [](nb::handle dest, nb::handle source, nb::handle pe, nb::handle nelems) {
        return transfer(dest.ptr(), source.ptr(), pe.ptr(), nelems.ptr(), false);
    }, any, any, any, any);
    m.def("strided", [](nb::handle dest, nb::handle source, nb::handle dst, nb::handle sst, nb::handle bsize, nb::handle nblocks, nb::handle pe, bool is_put) {
        Blocks blocks;
        return integer_of(dst.ptr(), blocks.to_step) && integer_of(sst.ptr(), blocks.from_step) && integer_of(bsize.ptr(), blocks.size) &&
               integer_of(nblocks.ptr(), blocks.count) && strided(dest.ptr(), source.ptr(), blocks, pe.ptr(), is_put);
    }, any, any, any, any, any, any, any, nb::arg());
    m.def("put_signal", [](nb::handle dest, nb::handle source, nb::handle sig_addr, nb::handle signal, bool add, nb::handle pe, nb::handle nelems, nb::handle index) {
        return put_signal(dest.ptr(), source.ptr(), sig_addr.ptr(), signal.ptr(), add, pe.ptr(), nelems.ptr(), index.ptr());
    }, any, any, any, any, nb::arg(), any, any, any);
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
    m.def("wait_set", [](nb::handle ivars, Py_ssize_t step, nb::handle compare, nb::handle values, nb::handle ignored, nb::handle found, int mode, bool once, double timeout) {
        return steal(wait_set(ivars.ptr(), step, compare.ptr(), values.ptr(), ignored.ptr(), found.ptr(), mode, once, timeout));
    }, any, nb::arg(), any, any, any, any, nb::arg(), nb::arg(), nb::arg());
    m.def("wait_seen", [](nb::handle ivar, nb::handle compare, nb::handle value, nb::handle index, double timeout) {
        return steal(wait_seen(ivar.ptr(), compare.ptr(), value.ptr(), index.ptr(), timeout));
    }, any, any, any, any, nb::arg());
    m.def("fence", &fence);
    m.def("barrier", [](unsigned team, double timeout) { return finish(barrier(team, timeout)); });
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("TIMED_OUT") = static_cast<int>(TimedOut);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("BAD_ARGUMENTS") = static_cast<int>(BadArguments);
}
