// Bindings of the engine that exchanges messages with other nodes, and of the memory that they write.
#include "bindings.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "exchange.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

int copy_addresses(uintptr_t to, uintptr_t from, size_t bytes) {
    const bool done = copy_any(reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), bytes);
    if (!done && PyErr_Occurred()) throw nb::python_error();
    return done ? Satisfied : Lost;
}

void make_staging(StagingSetup *made, uintptr_t append_copy, uintptr_t query, uintptr_t reset, uintptr_t list, uintptr_t buffers, const std::array<uintptr_t, Staging::STAGES> &events) {
    new (made) StagingSetup{pointer<decltype(made->append_copy)>(append_copy), pointer<decltype(made->query)>(query),
                            pointer<decltype(made->reset)>(reset), pointer<void *>(list), pointer<char *>(buffers), {}};
    for (size_t i = 0; i < events.size(); ++i) made->events[i] = pointer<void *>(events[i]);
}

void bind_engine(nb::module_ &m) {
    nb::class_<StagingSetup>(m, "StagingSetup")
        .def(nb::init<>())
        .def("__init__", &make_staging, nb::kw_only(), nb::arg("append_copy"), nb::arg("query"), nb::arg("reset"), nb::arg("list"), nb::arg("buffers"), nb::arg("events"));
    nb::class_<NetworkEngineSetup>(m, "NetworkEngineSetup")
        .def(nb::init<>())
        .def_rw("library", &NetworkEngineSetup::library)
        .def_rw("byte", &NetworkEngineSetup::byte)
        .def_rw("any_source", &NetworkEngineSetup::any_source)
        .def_rw("requests", &NetworkEngineSetup::requests)
        .def_rw("payloads", &NetworkEngineSetup::payloads)
        .def_rw("piece", &NetworkEngineSetup::piece)
        .def_rw("device_memory", &NetworkEngineSetup::device_memory)
        .def_rw("staging", &NetworkEngineSetup::staging)
        .def_rw("sockets", &NetworkEngineSetup::sockets);
    m.def("start_engine", &start_engine);
    m.def("stop_engine", &stop_engine);
    m.def("drive_engine", [] { return network_engine() && network_engine()->drive(); });
    m.def("drain_engine", [] { return !network_engine() || network_engine()->drain(); });
    m.def("engine_problem", [] { return network_engine() ? network_engine()->problem() : 0; });
    m.def("direct_payloads", [] { return network_engine() ? network_engine()->direct() : 0; });
    m.def("staged_payloads", [] { return network_engine() ? network_engine()->staged() : 0; });
    m.def("engine_traffic", [] {
        const Traffic sent = network_engine() ? network_engine()->traffic() : Traffic{};
        return nb::make_tuple(sent.requests, sent.asking, sent.answers, sent.round_trips, sent.rounds);
    });
    m.attr("STAGES") = Staging::STAGES;
    m.attr("STAGE_BYTES") = Staging::PIECE;
}

void set_regions(uintptr_t mirrors, size_t mirror_bytes, uintptr_t departures, uintptr_t landings) {
    heap().regions = {pointer<char *>(mirrors), mirror_bytes, pointer<char *>(departures), departure_bytes(static_cast<size_t>(heap().n_pes)),
                      pointer<char *>(landings), landing_bytes()};
}

}  // namespace

void bind_network(nb::module_ &m) {
    bind_engine(m);
    m.def("pair_steps", [](int nodes, int node) {
        std::vector<std::tuple<int, int, bool, bool, int, int, bool, bool>> steps;
        for (const PairStep &step : Pairs(nodes).steps_of(node))
            if (step.partner >= 0) steps.emplace_back(step.number, step.partner, step.sends, step.takes, step.first, step.last, step.is_second, step.is_whole);
        return steps;
    });
    m.def("set_nodes", [](const std::vector<int> &nodes) { heap().nodes = nodes; });
    m.def("set_regions", &set_regions, nb::kw_only(), nb::arg("mirrors"), nb::arg("mirror_bytes"), nb::arg("departures"), nb::arg("landings"));
    m.def("departure_bytes", &departure_bytes);
    m.def("landing_bytes", &landing_bytes);
    m.attr("PEER_BYTES") = NetworkEngine::peer_bytes();
    m.def("far_address", [](int pe, uint64_t offset) { return reinterpret_cast<uintptr_t>(far_address(pe, offset)); });
    m.def("is_far", [](uintptr_t address) { return is_far(pointer<char *>(address)); });
    m.def("copy", &copy_addresses);
}

}  // namespace ishmem
