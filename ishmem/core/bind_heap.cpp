// Bindings of the state of the heaps: set-up, teams, allocations, static objects, and PEs that have ended.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>

#include "late_delivery.hpp"
#include "reach.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

constexpr int LOOKS = 100;  // that many polls take about as long as one yield

bool has_core_for_each(size_t n_pes) {
    cpu_set_t cores;
    return sched_getaffinity(0, sizeof cores, &cores) == 0 && n_pes <= static_cast<size_t>(CPU_COUNT(&cores));
}

void configure(int me, uintptr_t base, size_t size, const std::vector<uintptr_t> &mapped, const std::vector<uintptr_t> &engine, size_t cutover, bool host_atomics, const std::vector<uintptr_t> &locks) {
    if (!arrays_known()) throw std::runtime_error("usm_ndarray is not that of dpctl 0.17 or dpnp 0.20, which ishmem needs");
    Heap &h = heap();
    h.me = me;
    h.base = reinterpret_cast<char *>(base);
    h.size = size;
    h.mapped.clear();
    for (uintptr_t address : mapped) h.mapped.push_back(reinterpret_cast<char *>(address));
    h.targets = h.mapped;
    h.copy_engine_bases.clear();
    for (uintptr_t address : engine) h.copy_engine_bases.push_back(reinterpret_cast<char *>(address));
    h.reaches.clear();
    for (const char *at : h.mapped) h.reaches.push_back(is_far(at) ? &by_network : nullptr);
    const auto near = std::count_if(h.mapped.begin(), h.mapped.end(), [](char *at) { return !is_far(at); });
    h.status.left = std::vector<std::atomic<bool>>(mapped.size());
    h.status.dead = std::vector<std::atomic<bool>>(mapped.size());
    h.cutover = cutover;
    h.host_atomics = host_atomics;
    for (uintptr_t lock : locks) h.locks.push_back(reinterpret_cast<int64_t *>(lock));
    h.n_pes = static_cast<int>(mapped.size());
    h.crowded = !has_core_for_each(static_cast<size_t>(near));
    h.looks = h.crowded ? 1 : LOOKS;
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
    h.locks.clear();
    late = nullptr;  // a thread may still be in it
    h.unreachable.clear();
    h.clear_live();
    h.status.quiet_is_general = h.status.survives_losses = false;
    h.status.violation = nullptr;
    h.status.busy_engines = 0;
    h.status.lost = -1;
    h.status.any_left = false;
    for (Team &team : h.teams) team = Team{};
    h.status.device_call = nullptr;
    h.statics.clear();
    h.static_objects.clear();
    h.removed_statics.clear();
    h.regions.mirrors = h.regions.departures = h.regions.landings = nullptr;
    h.nodes.clear();
}

char *raw(int pe, size_t offset, size_t bytes) {
    Heap &h = heap();
    if (pe < 0 || pe >= h.n_pes || offset + bytes > h.size) throw std::out_of_range("not in the heap");
    return h.mapped[pe] + offset;
}

// Where the job goes on, the memory of a lost PE on another node reads as zeros.
void raise_unless(bool done) {
    if (done) return;
    if (PyErr_Occurred()) throw nb::python_error();
    if (heap().status.survives_losses) return;
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
    if (!good && (PyErr_Occurred() || !heap().status.survives_losses)) leak(parts);
    raise_unless(good);
    nb::list all;
    for (const auto &part : parts) all.append(nb::bytes(part.data(), bytes));
    return all;
}

nb::bytes read_bytes(int pe, size_t offset, size_t bytes) {
    char *at = raw(pe, offset, bytes);
    return is_far(at) ? nb::bytes(nb::bytes(read_all({pe}, offset, bytes)[0])) : nb::bytes(at, bytes);
}

// Returns (address, elements, bytes per element, contiguity bits, writable, on the device); None if it is not an array.
nb::object describe(nb::handle array) {
    require_settled();
    View v;
    if (!view_of(array.ptr(), v)) return nb::none();
    return nb::make_tuple(reinterpret_cast<uintptr_t>(v.address), v.count, v.item, v.order, v.writable, v.device);
}

// Returns (outcome, digest, free, highest): see Summary.
nb::tuple agree_on(unsigned handle, uint64_t digest, uint64_t free, uint64_t highest) {
    require_settled();
    Summary summary = {digest, free, highest};
    const Outcome outcome = raised(agree(handle, -1, summary));
    return nb::make_tuple(static_cast<int>(outcome), summary.digest, summary.free, summary.highest);
}

void set_freed_arrays(const nb::list &origins, const std::vector<size_t> &offsets, const std::vector<size_t> &ends) {
    std::vector<Freed> found;
    for (size_t i = 0; i < offsets.size(); ++i)
        found.push_back({nb::object(origins[i]).ptr(), heap().base + offsets[i], heap().base + ends[i]});
    set_freed(std::move(found));
}

void bind_set_up(nb::module_ &m) {
    m.def("configure", &configure, nb::kw_only(), nb::arg("me"), nb::arg("base"), nb::arg("size"), nb::arg("mapped"), nb::arg("engine"), nb::arg("cutover"), nb::arg("host_atomics"), nb::arg("locks"));
    m.def("configure_parts", [](size_t sync, size_t sync_bytes, size_t barriers_begun, size_t begun) {
        heap().parts = {sync, sync_bytes, barriers_begun, begun};
    }, nb::kw_only(), nb::arg("sync"), nb::arg("sync_bytes"), nb::arg("barriers_begun"), nb::arg("begun"));
    m.def("watch_device", &watch_device);
    m.def("watch_violations", [](bool watched, size_t offset) {
        Heap &h = heap();
        h.status.quiet_is_general = watched;
        h.status.violation = reinterpret_cast<const int64_t *>(h.mapped[static_cast<size_t>(h.me)] + offset);
    });
    m.def("set_unreachable", [](const std::vector<int> &pes) {
        heap().unreachable.assign(static_cast<size_t>(heap().n_pes), false);
        for (int pe : pes) heap().unreachable.at(static_cast<size_t>(pe)) = true;
    });
    m.def("reset", &reset);
}

void bind_teams(nb::module_ &m) {
    m.def("set_team", [](unsigned handle, nb::handle shape, int me, uint64_t sequence) {
        team(handle);  // checks the handle
        const auto number = [&](const char *name) { return nb::cast<int>(shape.attr(name)); };
        Team made;
        made.start = number("start"), made.stride = number("stride"), made.size = number("size");
        made.members = nb::cast<std::vector<int>>(shape.attr("pes"));
        heap().set_team(handle, made, me, sequence, shape.ptr());
    });
    m.def("pe_of", [](int64_t number) { return heap().pe_of(number); });
    m.def("team_sequence", [](unsigned handle) { return team(handle).sequence; });
    m.def("remove_team", [](unsigned handle) {
        team(handle).size = 0;
        return std::max(team(handle).sequence, team(handle).collectives);
    });
    m.def("agree", &agree_on);
    m.def("mixed_with", &mixed_with);
    m.attr("KINDS_BITS") = KINDS_BITS;
}

void bind_memory(nb::module_ &m) {
    const auto any = nb::arg().none();  // accepts None: Python raises the error that explains
    m.def("add_live", [](size_t offset, size_t bytes) { heap().add_live(offset, bytes); });
    m.def("remove_live", [](size_t offset) { heap().remove_live(offset); });
    m.def("offset_of", [](uintptr_t address, size_t bytes) { return heap().offset_of(pointer<const char *>(address), bytes); });
    m.def("add_static", [](uintptr_t own, size_t bytes, const std::vector<uintptr_t> &mapped, const std::vector<uintptr_t> &engine) {
        heap().add_static(pointer<char *>(own), bytes, mapped, engine);
    });
    m.def("remove_static", [](uintptr_t own) { heap().remove_static(pointer<const char *>(own)); });
    m.def("address_on", [](int pe, uintptr_t address, size_t bytes, bool device) {
        return reinterpret_cast<uintptr_t>(heap().copy_engine_address({pointer<char *>(address), bytes, 1, U8, 1, true, device}, bytes, pe));
    });
    m.def("write", &write_bytes);
    m.def("read", &read_bytes);
    m.def("read_all", &read_all);
    m.def("describe", &describe, any);
    m.def("set_foreign", [](nb::handle type, nb::handle describe) { set_foreign(type.ptr(), describe.ptr()); });
    m.def("set_freed", &set_freed_arrays);
    m.def("freed_of", [](nb::handle array) { return freed_of(array.ptr()); }, any);
}

void bind_status(nb::module_ &m) {
    m.def("count_busy", [](int more) { heap().status.busy_engines += more; });
    m.def("device_status", &device_status);
    m.def("set_lost", [](int pe) {
        heap().lose(pe);
        if (network_engine() && heap().status.survives_losses) network_engine()->forget(pe);
    });
    m.def("forget_lost", [] { heap().status.lost = -1; });
    m.def("lost_pe", [] { return heap().status.lost.load(); });
    m.def("set_left", &set_left);
    m.def("left_pes", [] {
        std::vector<int> left;
        for (int pe = 0; pe < heap().n_pes; ++pe)
            if (heap().status.left[static_cast<size_t>(pe)]) left.push_back(pe);
        return left;
    });
    m.def("publish_barriers_begun", &publish_barriers_begun);
    m.def("publish_begun", &publish_begun);
}

}  // namespace

void bind_heap(nb::module_ &m) {
    bind_set_up(m);
    bind_teams(m);
    bind_memory(m);
    bind_status(m);
}

}  // namespace ishmem
