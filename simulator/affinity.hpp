// CPU affinity of the OpenCL CPU runtime's threads.
#pragma once

namespace simulator {

// Redirects a loaded library's calls to sched_setaffinity and pthread_setaffinity_np to a function that does nothing.
// The OpenCL CPU runtime pins each thread that runs kernels, in every process to the same cores, so kernels of two PEs
// that wait for each other would share a core.
void leaveThreadsUnpinned(void *library);

}  // namespace simulator
