// What the bindings of the Python module share.
#pragma once
#include <nanobind/nanobind.h>

#include "operations.hpp"
#include "unfinished_work.hpp"

namespace nb = nanobind;

namespace ishmem {

void bind_status_signals(nb::module_ &m);
void bind_losses(nb::module_ &m);
void bind_collectives(nb::module_ &m);
void bind_completion(nb::module_ &m);
void bind_graph(nb::module_ &m);
void bind_heap(nb::module_ &m);
void bind_python_calls(nb::module_ &m);
void bind_late(nb::module_ &m);
void bind_network(nb::module_ &m);
void bind_on_queue(nb::module_ &m);
void bind_private_memory(nb::module_ &m);
void bind_proxy(nb::module_ &m);
void bind_rehearsal(nb::module_ &m);
void bind_strided(nb::module_ &m);
void bind_unfinished_work(nb::module_ &m);
void bind_tracing(nb::module_ &m);
void bind_waits(nb::module_ &m);
void bind_watchdog(nb::module_ &m);

inline void require_settled() {
    if (!settle_submitted()) throw nb::python_error();
}

// Returns an outcome to Python, or raises the exception of an interrupted wait.
inline Outcome raised(Outcome outcome) {
    if (outcome == Interrupted) throw nb::python_error();
    return outcome;
}

// Returns an event of SYCL in the form from which dpctl.SyclEvent is made; takes over the event.
nb::object event_capsule(void *event);

// A pointer that Python holds as an integer.
template <class P>
P pointer(uintptr_t address) {
    return reinterpret_cast<P>(address);
}

}  // namespace ishmem
