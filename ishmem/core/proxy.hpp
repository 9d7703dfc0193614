// The proxy serves requests of this PE's kernels that their device cannot execute: copies to and from peers whose memory
// it does not reach, and atomics on peers that it reaches without atomics.
//
// Kernels write requests into a ring in host memory. A thread serves them in the order of their tickets. It never takes
// the GIL, as the launch of a kernel holds it. Tickets and counters only grow. See kernels/proxy.py.
#pragma once
#include <vector>

#include "operations.hpp"

namespace ishmem {

// A Level Zero function and its arguments.
struct ProxyDevice {
    int (*append_copy)(void *list, void *to, const void *from, size_t bytes, void *signal, uint32_t n, void **waits);
    void *list;      // immediate, synchronous command list for memory that the host does not map
    char *staging;   // host memory that the device can access
    size_t room;
};

// `locks` has for each PE the lock that serialises host atomics on its memory; null where host atomics need none.
void start_proxy(char *ring, size_t slots, size_t tickets_offset, const ProxyDevice &device, std::vector<int64_t *> locks);
void stop_proxy();

// Waits until all posted requests are complete.
Outcome drain_proxy();

// Number of requests served, and the first failure: a ze_result_t, -1 for an invalid request, 0 for none.
uint64_t proxy_served();
int proxy_problem();

}  // namespace ishmem
