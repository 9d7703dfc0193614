// Where the threads of the OpenCL CPU runtime run.
#pragma once

namespace simulator {

// Takes from a library that is loaded its calls that pin threads to cores. The OpenCL CPU runtime pins each thread that
// runs kernels, in each process to the same core: kernels of two PEs that wait for each other would share it.
void leaveThreadsUnpinned(void *library);

}  // namespace simulator
