// The OpenCL CPU runtime, which compiles and runs kernels. It is opened with dlopen; only the part of the OpenCL C ABI
// that the driver uses is declared here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace simulator {

struct ClObject;  // any OpenCL handle
using cl_object = ClObject *;
using cl_callback = void (*)(cl_object, void *);

enum : uint32_t {
  CL_DEVICE_TYPE_CPU = 1 << 1,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_NAME = 0x102b,
  CL_DRIVER_VERSION = 0x102d,
  CL_DEVICE_VERSION = 0x102f,
  CL_QUEUE_PROPERTIES = 0x1093,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_KERNEL_LOCAL_MEM_SIZE = 0x11b2,
  CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE = 0x2033,
  CL_KERNEL_PRIVATE_MEM_SIZE = 0x11b4,
};

static const uint64_t CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL = (uint64_t)1 << 31;

// The functions of OpenCL that the driver calls: result, name, types of the parameters.
#define OPENCL_FUNCTIONS(FUNCTION)                                                                                     \
  FUNCTION(int32_t, clGetPlatformIDs, uint32_t, cl_object *, uint32_t *)                                               \
  FUNCTION(int32_t, clGetDeviceIDs, cl_object, uint64_t, uint32_t, cl_object *, uint32_t *)                            \
  FUNCTION(int32_t, clGetDeviceInfo, cl_object, uint32_t, size_t, void *, size_t *)                                    \
  FUNCTION(cl_object, clCreateContext, const intptr_t *, uint32_t, const cl_object *, void *, void *, int32_t *)       \
  FUNCTION(cl_object, clCreateCommandQueueWithProperties, cl_object, cl_object, const uint64_t *, int32_t *)           \
  FUNCTION(int32_t, clReleaseCommandQueue, cl_object)                                                                  \
  FUNCTION(cl_object, clCreateProgramWithIL, cl_object, const void *, size_t, int32_t *)                               \
  FUNCTION(cl_object, clCreateProgramWithBinary, cl_object, uint32_t, const cl_object *, const size_t *,               \
           const unsigned char **, int32_t *, int32_t *)                                                               \
  FUNCTION(int32_t, clSetProgramSpecializationConstant, cl_object, uint32_t, size_t, const void *)                     \
  FUNCTION(int32_t, clBuildProgram, cl_object, uint32_t, const cl_object *, const char *, cl_callback, void *)         \
  FUNCTION(int32_t, clCompileProgram, cl_object, uint32_t, const cl_object *, const char *, uint32_t,                  \
           const cl_object *, const char **, cl_callback, void *)                                                      \
  FUNCTION(cl_object, clLinkProgram, cl_object, uint32_t, const cl_object *, const char *, uint32_t,                   \
           const cl_object *, cl_callback, void *, int32_t *)                                                          \
  FUNCTION(int32_t, clGetProgramBuildInfo, cl_object, cl_object, uint32_t, size_t, void *, size_t *)                   \
  FUNCTION(int32_t, clGetProgramInfo, cl_object, uint32_t, size_t, void *, size_t *)                                   \
  FUNCTION(int32_t, clReleaseProgram, cl_object)                                                                       \
  FUNCTION(cl_object, clCreateKernel, cl_object, const char *, int32_t *)                                              \
  FUNCTION(cl_object, clCloneKernel, cl_object, int32_t *)                                                             \
  FUNCTION(int32_t, clReleaseKernel, cl_object)                                                                        \
  FUNCTION(int32_t, clGetKernelWorkGroupInfo, cl_object, cl_object, uint32_t, size_t, void *, size_t *)                \
  FUNCTION(int32_t, clGetKernelSubGroupInfo, cl_object, cl_object, uint32_t, size_t, const void *, size_t, void *,     \
           size_t *)                                                                                                   \
  FUNCTION(int32_t, clSetKernelArg, cl_object, uint32_t, size_t, const void *)                                         \
  FUNCTION(int32_t, clEnqueueNDRangeKernel, cl_object, cl_object, uint32_t, const size_t *, const size_t *,            \
           const size_t *, uint32_t, const cl_object *, cl_object *)                                                   \
  FUNCTION(int32_t, clFinish, cl_object)                                                                               \
  FUNCTION(void *, clGetExtensionFunctionAddressForPlatform, cl_object, const char *)

// Extensions of Intel's runtime. The first accepts any mapped address; the others may be null.
#define OPENCL_EXTENSIONS(FUNCTION)                                                                                    \
  FUNCTION(int32_t, clSetKernelArgMemPointerINTEL, cl_object, uint32_t, const void *)                                  \
  FUNCTION(int32_t, clGetDeviceGlobalVariablePointerINTEL, cl_object, cl_object, const char *, size_t *, void **)      \
  FUNCTION(int32_t, clGetDeviceFunctionPointerINTEL, cl_object, cl_object, const char *, uint64_t *)

struct OpenCl {
#define MEMBER(result, name, ...) result (*name)(__VA_ARGS__);
  OPENCL_FUNCTIONS(MEMBER)
  OPENCL_EXTENSIONS(MEMBER)
#undef MEMBER
  cl_object platform, device, context;
};

// Returns null and prints a message if there is no usable runtime.
const OpenCl *openCl();

// The calling thread's own queues, so that kernels of different threads run concurrently. `shared` runs work-groups on
// this thread and on others, `own` only on this thread, before the launch returns.
struct ThreadQueues {
  cl_object shared, own;
};
const ThreadQueues &threadQueues(const OpenCl &cl);

static const uint32_t maxGroupSize = 1024, maxSubgroupSize = 32;
static const size_t maxFillPattern = 128;

// Bytes of local memory that the checks of barriers take; see barriers.cpp.
static const size_t barrierTables = 2 * 4 * maxGroupSize;

// Local memory for programs: by default 128 KiB, that of a tile of the simulated GPU.
size_t localMemorySize();

// The number of work-groups that run at the same time.
size_t groupsAtOnce();

// Whether the runtime is as new as today's, by its version: its vectoriser then gives the same results as without it, and
// it has the linear number of a work-item in its group.
bool isCurrent();

}  // namespace simulator
