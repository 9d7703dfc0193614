// fence and quiet on the mapped heaps.
#include "operations.hpp"
#include "proxy.hpp"
#include "remote.hpp"

namespace ishmem {

void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

namespace {

// Kernels record wrong sizes of the arrays of a put or get; with ISHMEM_CHECK, other wrong arguments too.
bool violation_recorded(const Heap &h) { return h.status.violation && __atomic_load_n(h.status.violation, __ATOMIC_ACQUIRE); }

}  // namespace

// Model: tests/models/quiet.pml.
Done quiet() {
    const Heap &h = heap();
    if (!h.n_pes || h.status.busy_engines || h.status.quiet_is_general) return {false};
    fence();
    if (drain_proxy() != Satisfied || remote_quiet() != Satisfied) return {false};
    return {device_status() == 0 && !proxy_failed() && !violation_recorded(h)};
}

}  // namespace ishmem
