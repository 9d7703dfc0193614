// The proxy executes requests of this PE's kernels that their device cannot execute: copies to and from peers whose
// memory the device does not reach, and atomics on peers that the device reaches without atomics.
//
// Kernels write requests into a ring in host memory. A thread serves them in ticket order. It never takes the GIL,
// because a kernel launch may hold it. Tickets and counters only grow. See kernels/proxy.py.
#pragma once
#include <vector>

#include "operations.hpp"

namespace ishmem {

struct ProxySetup {
    char *ring;      // the requests
    size_t slots;    // of the ring
    size_t tickets;  // offset of the ticket counter in the heap
    int (*append_copy)(void *list, void *to, const void *from, size_t bytes, void *signal, uint32_t n, void **waits);
    void *list;      // immediate, synchronous command list: copies memory that the host does not map
    char *staging;   // host memory that the device can access
    size_t room;     // bytes there
};

void start_proxy(const ProxySetup &setup);
void stop_proxy();

// Lets the next quiet or barrier of this PE's kernels complete a put of the host to another node, already started.
void host_has_put();

// Waits until all posted requests are complete; Lost when the device has failed first.
Outcome drain_proxy();

// Return the number of completed requests, whether one failed, and the first failure: a ze_result_t, -1 for an invalid
// request, 0 for none. `proxy_problem` also clears the failure.
uint64_t proxy_served();
bool proxy_failed();
int proxy_problem();

}  // namespace ishmem
