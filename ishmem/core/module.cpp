// The Python module ishmem._core: thin bindings of the host operations and of the state they use.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "fastcall.hpp"
#include "late.hpp"
#include "proxy.hpp"
#include "remote.hpp"
#include "routine.hpp"

namespace nb = nanobind;

namespace ishmem {
void bind_collectives(nb::module_ &m);
void bind_on_queue(nb::module_ &m);
void bind_private_memory(nb::module_ &m);
void bind_rehearsal(nb::module_ &m);
void bind_submitted(nb::module_ &m);
void bind_tracing(nb::module_ &m);
void bind_watchdog(nb::module_ &m);
void bind_answer(nb::module_ &m);
}
using namespace ishmem;

namespace {

constexpr int LOOKS = 100;  // that many polls take about as long as one yield

void require_settled() {
    if (!settle_submitted()) throw nb::python_error();
}

bool has_core_for_each(size_t n_pes) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && n_pes <= static_cast<size_t>(CPU_COUNT(&cores));
}

void configure(int me, uintptr_t base, size_t size, const std::vector<uintptr_t> &mapped, size_t cutover, bool host_atomics) {
    if (!arrays_known()) throw std::runtime_error("usm_ndarray is not that of dpctl 0.17 or dpnp 0.20, which ishmem needs");
    Heap &h = heap();
    h.me = me;
    h.base = reinterpret_cast<char *>(base);
    h.size = size;
    h.mapped.clear();
    for (uintptr_t address : mapped) h.mapped.push_back(reinterpret_cast<char *>(address));
    h.targets = h.mapped;
    const auto near = std::count_if(h.mapped.begin(), h.mapped.end(), [](char *at) { return !is_far(at); });
    h.left = std::vector<std::atomic<bool>>(mapped.size());
    h.cutover = cutover;
    h.host_atomics = host_atomics;
    h.n_pes = static_cast<int>(mapped.size());
    h.crowded = !has_core_for_each(static_cast<size_t>(near));
    h.looks = h.crowded ? 1 : LOOKS;
}

void configure_sync(size_t sync_offset, size_t sync_bytes, size_t barriers_begun_offset, size_t begun_offset) {
    Heap &h = heap();
    h.sync_offset = sync_offset;
    h.sync_bytes = sync_bytes;
    h.barriers_begun_offset = barriers_begun_offset;
    h.begun_offset = begun_offset;
}

Team &team(unsigned handle) {
    if (handle >= MAX_TEAMS) throw std::out_of_range("not a team");
    return heap().teams[handle];
}

void reset() {
    Heap &h = heap();
    h.n_pes = 0;
    h.base = nullptr;
    h.size = 0;
    h.mapped.clear();
    h.targets.clear();
    late = nullptr;  // a thread may still be in it
    h.unreachable.clear();
    h.clear_live();
    h.quiet_is_general = false;
    h.violation = nullptr;
    h.busy_engines = 0;
    h.status_call = nullptr;
    h.statics.clear();
    h.static_objects.clear();
    h.mirrors = h.departures = h.landings = nullptr;
    h.nodes.clear();
}

char *raw(int pe, size_t offset, size_t bytes) {
    Heap &h = heap();
    if (pe < 0 || pe >= h.n_pes || offset + bytes > h.size) throw std::out_of_range("not in the heap");
    return h.mapped[pe] + offset;
}

void raise_unless(bool done) {
    if (done) return;
    if (PyErr_Occurred()) throw nb::python_error();
    throw std::runtime_error("another PE is lost");
}

void write_bytes(int pe, size_t offset, const nb::bytes &data) {
    raise_unless(copy_any(raw(pe, offset, data.size()), data.c_str(), data.size()));
}

// Reads the bytes at one offset in the heaps of several PEs with concurrent gets.
nb::list read_all(const std::vector<int> &pes, size_t offset, size_t bytes) {
    std::vector<std::vector<char>> parts(pes.size(), std::vector<char>(bytes));
    Gets gets;
    bool good = true;
    for (size_t i = 0; i < pes.size() && good; ++i) good = gets.start(parts[i].data(), raw(pes[i], offset, bytes), bytes);
    good = good && gets.await() == Satisfied;
    if (!good) leak(parts);
    raise_unless(good);
    nb::list all;
    for (const auto &part : parts) all.append(nb::bytes(part.data(), bytes));
    return all;
}

nb::bytes read_bytes(int pe, size_t offset, size_t bytes) {
    char *at = raw(pe, offset, bytes);
    return is_far(at) ? nb::bytes(nb::bytes(read_all({pe}, offset, bytes)[0])) : nb::bytes(at, bytes);
}

int copy_addresses(uintptr_t to, uintptr_t from, size_t bytes) {
    const bool done = copy_any(reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), bytes);
    if (!done && PyErr_Occurred()) throw nb::python_error();
    return done ? Satisfied : Lost;
}

// Three functions, the command list, the buffers and an event for each of them; empty where nothing is staged.
StagingSetup staging_setup(const std::vector<uintptr_t> &words) {
    StagingSetup setup;
    if (words.empty()) return setup;
    setup.append_copy = reinterpret_cast<decltype(setup.append_copy)>(words.at(0));
    setup.query = reinterpret_cast<decltype(setup.query)>(words.at(1));
    setup.reset = reinterpret_cast<decltype(setup.reset)>(words.at(2));
    setup.list = reinterpret_cast<void *>(words.at(3));
    setup.buffers = reinterpret_cast<char *>(words.at(4));
    for (size_t i = 0; i < Staging::STAGES; ++i) setup.events[i] = reinterpret_cast<void *>(words.at(5 + i));
    return setup;
}

void bind_engine(nb::module_ &m) {
    m.def("start_engine", [](const std::string &library, uintptr_t byte, int any_source, uintptr_t requests, uintptr_t payloads, size_t piece, uintptr_t lock, bool device_memory, const std::vector<uintptr_t> &staging) {
        start_engine(EngineSetup{library, byte, requests, payloads, any_source, piece, reinterpret_cast<int64_t *>(lock), device_memory, staging_setup(staging)});
    });
    m.def("stop_engine", &stop_engine);
    m.def("drive_engine", [] { return engine() && engine()->drive(); });
    m.def("drain_engine", [] { return !engine() || engine()->drain(); });
    m.def("direct_payloads", [] { return engine() ? engine()->direct() : 0; });
    m.def("staged_payloads", [] { return engine() ? engine()->staged() : 0; });
    m.attr("STAGES") = Staging::STAGES;
    m.attr("STAGE_BYTES") = Staging::PIECE;
    m.def("engine_problem", [] { return engine() ? engine()->problem() : 0; });
    m.def("far_address", [](int pe, uint64_t place) { return reinterpret_cast<uintptr_t>(far_address(pe, place)); });
    m.def("is_far", [](uintptr_t address) { return is_far(reinterpret_cast<char *>(address)); });
    m.def("copy", &copy_addresses);
    m.def("read_all", &read_all);
    m.def("quiet_far", [] {
        const Outcome outcome = remote_quiet();
        if (outcome == Interrupted) throw nb::python_error();
        return static_cast<int>(outcome);
    });
    m.def("set_nodes", [](const std::vector<int> &nodes) { heap().nodes = nodes; });
    m.def("departure_bytes", &departure_bytes);
    m.def("landing_bytes", &landing_bytes);
    m.def("set_regions", [](uintptr_t mirrors, size_t mirror_bytes, uintptr_t departures, uintptr_t landings) {
        Heap &h = heap();
        h.mirrors = reinterpret_cast<char *>(mirrors);
        h.mirror_bytes = mirror_bytes;
        h.departures = reinterpret_cast<char *>(departures);
        h.departure_bytes = departure_bytes();
        h.landings = reinterpret_cast<char *>(landings);
        h.landing_bytes = landing_bytes();
    });
    m.def("left_pes", [] {
        std::vector<int> left;
        for (int pe = 0; pe < heap().n_pes; ++pe)
            if (heap().left[static_cast<size_t>(pe)]) left.push_back(pe);
        return left;
    });
}

// Returns (address, elements, bytes per element, contiguity bits, writable, on the device); None if it is not an array.
nb::object describe(nb::handle array) {
    require_settled();
    View v;
    if (!view_of(array.ptr(), v)) return nb::none();
    return nb::make_tuple(reinterpret_cast<uintptr_t>(v.address), v.count, v.item, v.order, v.writable, v.device);
}

// Installs a signal handler that ends the process with the status in the signal's value, even while the GIL is held.
void exit_on(int number) {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t *info, void *) {
        if (info->si_code == SI_QUEUE) _exit(info->si_value.sival_int);
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(number, &action, nullptr);
}

// Completes all operations, but for held ones; what is done to those is said.
bool complete_all(void (Late::*held)()) {
    require_settled();
    fence();
    if (drain_proxy() == Interrupted) throw nb::python_error();
    if (late) (late->*held)();
    const Outcome outcome = remote_quiet();
    if (outcome == Interrupted) throw nb::python_error();
    return outcome != Lost;
}

// Waits for local completion of nonblocking operations; false when a PE is lost.
bool flush() {
    require_settled();
    const Outcome outcome = remote_flush();
    if (outcome == Interrupted) throw nb::python_error();
    if (late) late->flush();
    return outcome != Lost;
}

void bind_late(nb::module_ &m) {
    m.def("flush", &flush);
    m.def("start_late", [](uint64_t seed, nb::handle where) { start_late(seed, where.ptr()); });
    m.def("stop_late", &stop_late);
    m.def("reseed_late", [](uint64_t seed) { if (late) late->reseed(seed); });
    m.def("store_directly", [] { if (late) late->store_directly(); });
    m.def("complete_late", [] { if (late) late->complete(); });
    m.def("mark_late", [] { return late ? late->mark() : 0; });
    m.def("signal_late", [](nb::handle sig_addr, nb::handle signal, bool add, nb::handle pe, nb::handle index, uint64_t since) {
        return signal_late(sig_addr.ptr(), signal.ptr(), add, pe.ptr(), index.ptr(), since);
    });
    m.def("late_changed", [] { return late ? late->changed() : std::vector<std::string>(); });
    m.def("late_notes", [] { return late ? late->notes() : std::vector<std::string>(); });
}

// Returns (outcome, digest, free, highest): see Summary.
nb::tuple agree_on(unsigned handle, uint64_t digest, uint64_t free, uint64_t highest) {
    require_settled();
    Summary summary = {digest, free, highest};
    const Outcome outcome = agree(handle, -1, summary);
    if (outcome == Interrupted) throw nb::python_error();
    return nb::make_tuple(static_cast<int>(outcome), summary.digest, summary.free, summary.highest);
}

nb::object steal(PyObject *result) {
    if (!result) throw nb::python_error();
    return nb::steal(result);
}

PyMethodDef hot[] = {
    method<&put>("put"),
    method<&get>("get"),
    method<&put_nbi>("put_nbi"),
    method<&get_nbi>("get_nbi"),
    method<&p>("p"),
    method<&g>("g"),
    method<&strided>("strided"),
    method<&put_signal>("put_signal"),
    method<&atomic>("atomic"),
    method<&wait_until>("wait_until"),
    method<&wait_briefly>("wait_briefly"),
    method<&wait_seen>("wait_seen"),
    method<&test>("test"),
    method<&quiet>("quiet"),
    method<&barrier>("barrier"),
    method<&barrier_all>("barrier_all"),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

NB_MODULE(_core, m) {
    const auto any = nb::arg().none();  // accepts None: Python raises the error that explains
    m.doc() = "The host's hot path: loads, stores, copies, atomics and waits on mapped heaps.";
    m.def("configure", &configure);
    m.def("configure_sync", &configure_sync);
    m.def("watch_device", &watch_device);
    m.def("watch_violations", [](bool watched, size_t offset) {
        Heap &h = heap();
        h.quiet_is_general = watched;
        h.violation = reinterpret_cast<const int64_t *>(h.mapped[static_cast<size_t>(h.me)] + offset);
    });
    m.def("count_busy", [](int more) { heap().busy_engines += more; });
    m.def("device_status", &device_status);
    m.def("reset", &reset);
    m.def("set_team", [](unsigned handle, int start, int stride, int size, int me, uint64_t sequence, nb::handle shape) {
        team(handle);  // checks the handle
        heap().set_team(handle, start, stride, size, me, sequence, shape.ptr());
    });
    m.def("agree", &agree_on);
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
        heap().add_static(reinterpret_cast<char *>(own), bytes, mapped);
    });
    m.def("static_address", [](uintptr_t address, size_t bytes, int pe) {
        return reinterpret_cast<uintptr_t>(heap().static_of(reinterpret_cast<const char *>(address), bytes, pe));
    });
    m.def("set_lost", [](int pe) { heap().lost = pe; });
    m.def("set_left", &set_left);
    m.def("publish_barriers_begun", &publish_barriers_begun);
    m.def("publish_begun", &publish_begun);
    m.def("lost_pe", [] { return heap().lost.load(); });
    m.def("exit_on", &exit_on);
    m.def("on_wait", [](nb::handle call) { on_wait(call.ptr()); }, nb::arg().none());
    m.def("write", &write_bytes);
    m.def("read", &read_bytes);
    m.def("describe", &describe, any);
    m.def("set_freed", [](nb::list origins, const std::vector<size_t> &offsets, const std::vector<size_t> &ends) {
        std::vector<Freed> found;
        for (size_t i = 0; i < offsets.size(); ++i)
            found.push_back({nb::object(origins[i]).ptr(), heap().base + offsets[i], heap().base + ends[i]});
        set_freed(std::move(found));
    });
    m.def("freed_of", [](nb::handle array) { return freed_of(array.ptr()); }, any);
    m.def("wait_set", [](nb::handle ivars, Py_ssize_t step, nb::handle compare, nb::handle values, nb::handle ignored, nb::handle found, int mode, bool once, double timeout) {
        return steal(wait_set(ivars.ptr(), step, compare.ptr(), values.ptr(), ignored.ptr(), found.ptr(), mode, once, timeout));
    }, any, nb::arg(), any, any, any, any, nb::arg(), nb::arg(), nb::arg());
    m.def("fence", [] { return complete_all(&Late::complete); });
    m.def("order", [] { return complete_all(&Late::fence); });
    bind_late(m);
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
    m.def("stop_proxy", &stop_proxy, nb::call_guard<nb::gil_scoped_release>());  // a request that it waits for may take it
    m.def("proxy_served", &proxy_served);
    m.def("proxy_problem", &proxy_problem);
    if (PyModule_AddFunctions(m.ptr(), hot) != 0 || !add_routine_type(m.ptr())) throw nb::python_error();
    bind_collectives(m);
    bind_on_queue(m);
    bind_private_memory(m);
    bind_engine(m);
    bind_rehearsal(m);
    bind_submitted(m);
    bind_tracing(m);
    bind_watchdog(m);
    bind_answer(m);
    m.attr("SATISFIED") = static_cast<int>(Satisfied);
    m.attr("TIMED_OUT") = static_cast<int>(TimedOut);
    m.attr("LOST") = static_cast<int>(Lost);
    m.attr("MIXED") = static_cast<int>(Mixed);
    m.attr("KINDS_BITS") = KINDS_BITS;
    m.def("mixed_with", &mixed_with);
    m.attr("BAD_ARGUMENTS") = static_cast<int>(BadArguments);
}
