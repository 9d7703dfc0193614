// The proxy serves what this PE's kernels ask for because their device cannot do it: copies to and from peers whose
// memory it does not reach, and atomics on peers that it reaches without atomics.
//
// Kernels write requests into a ring in host memory; a thread that never takes the interpreter's lock, which the launch
// of a kernel holds, serves them in the order of their tickets. All numbers only grow. See kernels/proxy.py.
#pragma once
#include <vector>

#include "operations.hpp"

namespace ishmem {

// Functions of Level Zero, and what they need.
struct ProxyDevice {
    int (*append_copy)(void *list, void *to, const void *from, size_t bytes, void *signal, uint32_t n, void **waits);
    void *list;      // immediate and synchronous, for copies of memory that the host does not map
    char *staging;   // host memory that the device reaches
    size_t room;
};

// `locks` holds for each PE the lock that keeps the atomics of hosts on its memory apart, null where these are atomic.
void start_proxy(char *ring, size_t slots, size_t tickets_offset, const ProxyDevice &device, std::vector<int64_t *> locks);
void stop_proxy();

// Waits until all that kernels have asked for is done.
Outcome drain_proxy();

// Requests served, and the first that failed: a ze_result_t, -1 for a request that made no sense, 0 for none.
uint64_t proxy_served();
int proxy_problem();

}  // namespace ishmem
