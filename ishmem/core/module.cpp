// The Python module ishmem._core: thin bindings of operations.hpp and the state they work on.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "fastcall.hpp"
#include "proxy.hpp"

namespace nb = nanobind;

namespace ishmem {
void bind_collectives(nb::module_ &m);
void bind_private_memory(nb::module_ &m);
}
using namespace ishmem;

namespace {

constexpr int LOOKS = 100;  // they take about as long as one yield

bool has_core_for_each(size_t n_pes) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && n_pes <= static_cast<size_t>(CPU_COUNT(&cores));
}

void configure(int me, uintptr_t base, size_t size, const std::vector<uintptr_t> &mapped, size_t cutover, bool host_atomics) {
    if (!arrays_known()) throw std::runtime_error("dpctl's arrays are not those of dpctl 0.17, which ishmem needs");
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
    h.looks = has_core_for_each(mapped.size()) ? LOOKS : 1;
}

void configure_sync(size_t sync_offset, size_t sync_bytes, size_t barriers_begun_offset) {
    Heap &h = heap();
    h.sync_offset = sync_offset;
    h.sync_bytes = sync_bytes;
    h.barriers_begun_offset = barriers_begun_offset;
}

Team &team(unsigned handle) {
    if (handle >= MAX_TEAMS) throw std::out_of_range("not a team");
    return heap().teams[handle];
}

void set_team(unsigned handle, int start, int stride, int size, int me, uint64_t sequence, nb::handle shape) {
    team(handle) = Team{start, stride, size, me, sequence, sequence, shape.ptr()};
}

void reset() {
    Heap &h = heap();
    h.n_pes = 0;
    h.base = nullptr;
    h.size = 0;
    h.mapped.clear();
    h.unreachable.clear();
    h.clear_live();
    h.violations_watched = false;
    h.busy_engines = 0;
    h.status_call = nullptr;
    h.statics.clear();
    h.static_objects.clear();
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

nb::object steal(PyObject *result) {
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

PyMethodDef hot[] = {
    method<&put>("put"),
    method<&get>("get"),
    method<&p>("p"),
    method<&g>("g"),
    method<&strided>("strided"),
    method<&put_signal>("put_signal"),
    method<&atomic>("atomic"),
    method<&wait_until>("wait_until"),
    method<&wait_seen>("wait_seen"),
    method<&test>("test"),
    method<&quiet>("quiet"),
    method<&barrier>("barrier"),
    method<&barrier_all>("barrier_all"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

NB_MODULE(_core, m) {
    const auto any = nb::arg().none();  // None too: Python explains what is wrong with it
    m.doc() = "The host's hot path: loads, stores, copies, atomics and waits on mapped heaps.";
    m.def("configure", &configure);
    m.def("configure_sync", &configure_sync);
    m.def("watch_device", &watch_device);
    m.def("watch_violations", [](bool watched) { heap().violations_watched = watched; });
    m.def("count_busy", [](int more) { heap().busy_engines += more; });
    m.def("device_status", &device_status);
    m.def("reset", &reset);
    m.def("set_team", &set_team);
    m.def("add_live", [](size_t offset, size_t bytes) { heap().add_live(offset, bytes); });
    m.def("remove_live", [](size_t offset) { heap().remove_live(offset); });
    m.def("team_sequence", [](unsigned handle) { return team(handle).sequence; });
    m.def("remove_team", [](unsigned handle) {
        team(handle).size = 0;
        return std::max(team(handle).sequence, team(handle).collectives);
    });
    m.def("offset_of", [](uintptr_t address, size_t bytes) {
        return heap().offset_of(reinterpret_cast<const char *>(address), bytes);
    });
    m.def("add_static", [](uintptr_t own, size_t bytes, const std::vector<uintptr_t> &mapped) {
        Static &object = heap().statics[reinterpret_cast<const char *>(own)];
        object.size = bytes;
        heap().static_objects.push_back(&object);
        object.number = heap().static_objects.size();
        for (uintptr_t address : mapped) object.mapped.push_back(reinterpret_cast<char *>(address));
    });
    m.def("static_address", [](uintptr_t address, size_t bytes, int pe) {
        return reinterpret_cast<uintptr_t>(heap().static_of(reinterpret_cast<const char *>(address), bytes, pe));
    });
    m.def("set_lost", [](int pe) { heap().lost = pe; });
    m.def("set_left", &set_left);
    m.def("publish_barriers_begun", &publish_barriers_begun);
    m.def("exit_on", &exit_on);
    m.def("on_wait", [](nb::handle call) { on_wait(call.ptr()); }, nb::arg().none());
    m.def("write", &write_bytes);
    m.def("read", &read_bytes);
    m.def("describe", &describe, any);
    m.def("wait_set", [](nb::handle ivars, Py_ssize_t step, nb::handle compare, nb::handle values, nb::handle ignored, nb::handle found, int mode, bool once, double timeout) {
        return steal(wait_set(ivars.ptr(), step, compare.ptr(), values.ptr(), ignored.ptr(), found.ptr(), mode, once, timeout));
    }, any, nb::arg(), any, any, any, any, nb::arg(), nb::arg(), nb::arg());
    m.def("fence", [] {
        fence();
        if (drain_proxy() == Interrupted) throw nb::python_error();
    });
    m.def("set_unreachable", [](const std::vector<int> &pes) {
        heap().unreachable.assign(static_cast<size_t>(heap().n_pes), false);
        for (int pe : pes) heap().unreachable.at(static_cast<size_t>(pe)) = true;
    });
    m.def("start_proxy", [](uintptr_t ring, size_t slots, size_t tickets, uintptr_t append_copy, uintptr_t list, uintptr_t staging, size_t room, const std::vector<uintptr_t> &locks) {
        std::vector<int64_t *> words;
        for (uintptr_t lock : locks) words.push_back(reinterpret_cast<int64_t *>(lock));
        const ProxyDevice device = {reinterpret_cast<decltype(ProxyDevice::append_copy)>(append_copy), reinterpret_cast<void *>(list),
                                    reinterpret_cast<char *>(staging), room};
        start_proxy(reinterpret_cast<char *>(ring), slots, tickets, device, words);
    });
    m.def("stop_proxy", &stop_proxy);
    m.def("proxy_served", &proxy_served);
    m.def("proxy_problem", &proxy_problem);
    if (PyModule_AddFunctions(m.ptr(), hot) != 0) throw nb::python_error();
    bind_collectives(m);
    bind_private_memory(m);
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("TIMED_OUT") = static_cast<int>(TimedOut);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("BAD_ARGUMENTS") = static_cast<int>(BadArguments);
}
