// Bindings of what completes operations, and of late delivery.
#include "bindings.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "late_delivery.hpp"
#include "proxy.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

// Completes all operations, but for held ones; what is done to those is said.
bool complete_all(void (Late::*held)()) {
    require_settled();
    fence();
    raised(drain_proxy());
    if (late) (late->*held)();
    return raised(remote_quiet()) != Lost;
}

// Waits for local completion of nonblocking operations; false when a PE is lost.
bool flush() {
    require_settled();
    const Outcome outcome = raised(remote_flush());
    if (late) late->flush();
    return outcome != Lost;
}

}  // namespace

void bind_completion(nb::module_ &m) {
    m.def("fence", [] { return complete_all(&Late::complete); });
    m.def("order", [] { return complete_all(&Late::fence); });
    m.def("flush", &flush);
}

void bind_late(nb::module_ &m) {
    m.def("start_late", [](uint64_t seed, nb::handle where) { start_late(seed, where.ptr()); });
    m.def("stop_late", &stop_late);
    m.def("reseed_late", [](uint64_t seed) { if (late) late->reseed(seed); });
    m.def("store_directly", [] { if (late) late->store_directly(); });
    m.def("complete_late", [] { if (late) late->complete(); });
    m.def("late_changed", [] { return late ? late->changed() : std::vector<std::string>(); });
    m.def("late_notes", [] { return late ? late->notes() : std::vector<std::string>(); });
}

}  // namespace ishmem
