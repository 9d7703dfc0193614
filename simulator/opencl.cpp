#include "opencl.hpp"

#include <cstdlib>
#include <dlfcn.h>

#include "affinity.hpp"
#include "settings.hpp"
#include "yielding.hpp"

namespace simulator {

template <class Function>
static bool bind(void *library, const char *name, Function &function) {
  function = (Function)dlsym(library, name);
  if (!function) complain("%s has no %s", settings().opencl.c_str(), name);
  return function;
}

static bool bindAll(void *library, OpenCl &cl) {
  return bind(library, "clGetPlatformIDs", cl.clGetPlatformIDs) &&
         bind(library, "clGetDeviceIDs", cl.clGetDeviceIDs) &&
         bind(library, "clGetDeviceInfo", cl.clGetDeviceInfo) &&
         bind(library, "clCreateContext", cl.clCreateContext) &&
         bind(library, "clCreateCommandQueueWithProperties", cl.clCreateCommandQueueWithProperties) &&
         bind(library, "clReleaseCommandQueue", cl.clReleaseCommandQueue) &&
         bind(library, "clCreateProgramWithIL", cl.clCreateProgramWithIL) &&
         bind(library, "clCreateProgramWithBinary", cl.clCreateProgramWithBinary) &&
         bind(library, "clSetProgramSpecializationConstant", cl.clSetProgramSpecializationConstant) &&
         bind(library, "clBuildProgram", cl.clBuildProgram) &&
         bind(library, "clCompileProgram", cl.clCompileProgram) &&
         bind(library, "clLinkProgram", cl.clLinkProgram) &&
         bind(library, "clGetProgramBuildInfo", cl.clGetProgramBuildInfo) &&
         bind(library, "clGetProgramInfo", cl.clGetProgramInfo) &&
         bind(library, "clReleaseProgram", cl.clReleaseProgram) &&
         bind(library, "clCreateKernel", cl.clCreateKernel) &&
         bind(library, "clCloneKernel", cl.clCloneKernel) &&
         bind(library, "clReleaseKernel", cl.clReleaseKernel) &&
         bind(library, "clGetKernelWorkGroupInfo", cl.clGetKernelWorkGroupInfo) &&
         bind(library, "clSetKernelArg", cl.clSetKernelArg) &&
         bind(library, "clEnqueueNDRangeKernel", cl.clEnqueueNDRangeKernel) &&
         bind(library, "clFinish", cl.clFinish) &&
         bind(library, "clGetExtensionFunctionAddressForPlatform", cl.clGetExtensionFunctionAddressForPlatform);
}

template <class Function>
static void bindExtension(const OpenCl &cl, const char *name, Function &function) {
  function = (Function)cl.clGetExtensionFunctionAddressForPlatform(cl.platform, name);
}

static bool openDevice(OpenCl &cl) {
  int32_t error = cl.clGetPlatformIDs(1, &cl.platform, nullptr);
  if (!error) error = cl.clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_CPU, 1, &cl.device, nullptr);
  if (!error) cl.context = cl.clCreateContext(nullptr, 1, &cl.device, nullptr, nullptr, &error);
  if (error) {
    complain("%s has no CPU device (OpenCL error %d)", settings().opencl.c_str(), error);
    return false;
  }
  bindExtension(cl, "clSetKernelArgMemPointerINTEL", cl.clSetKernelArgMemPointerINTEL);
  bindExtension(cl, "clGetDeviceGlobalVariablePointerINTEL", cl.clGetDeviceGlobalVariablePointerINTEL);
  bindExtension(cl, "clGetDeviceFunctionPointerINTEL", cl.clGetDeviceFunctionPointerINTEL);
  if (!cl.clSetKernelArgMemPointerINTEL) complain("%s takes no USM pointers", settings().opencl.c_str());
  return cl.clSetKernelArgMemPointerINTEL;
}

// The runtime's default is 32 KiB; a tile of the simulated GPU has 128 KiB. The runtime reads the variable when it is
// first used, which may be by SYCL's OpenCL plugin before the first Level Zero call. Hence a constructor.
__attribute__((constructor)) static void setLocalMemorySize() {
  setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "128KB", 0);
}

static const OpenCl *open() {
  void *library = dlopen(settings().opencl.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    complain("no OpenCL CPU runtime: %s (ISHMEM_SIM_OPENCL names it)", dlerror());
    return nullptr;
  }
  leaveThreadsUnpinned(library);
  watchThreadsOfTbb();
  auto *cl = new OpenCl();
  if (bindAll(library, *cl) && openDevice(*cl)) return cl;
  delete cl;
  return nullptr;
}

const OpenCl *openCl() {
  static const OpenCl *only = open();
  return only;
}

static cl_object createQueue(const OpenCl &cl, uint64_t flags) {
  const uint64_t properties[] = {CL_QUEUE_PROPERTIES, flags, 0};
  int32_t error;
  return cl.clCreateCommandQueueWithProperties(cl.context, cl.device, properties, &error);
}

const ThreadQueues &threadQueues(const OpenCl &cl) {
  struct Owner {
    const OpenCl &cl;
    const ThreadQueues queues;
    explicit Owner(const OpenCl &runtime)
        : cl(runtime), queues{createQueue(cl, 0), createQueue(cl, CL_QUEUE_THREAD_LOCAL_EXEC_ENABLE_INTEL)} {}
    ~Owner() {
      for (cl_object queue : {queues.shared, queues.own})
        if (queue) cl.clReleaseCommandQueue(queue);
    }
  };
  static thread_local Owner owner(cl);
  return owner.queues;
}

size_t localMemorySize() {
  uint64_t size = 32 << 10;
  if (const OpenCl *cl = openCl()) cl->clGetDeviceInfo(cl->device, CL_DEVICE_LOCAL_MEM_SIZE, 8, &size, nullptr);
  return size;
}

}  // namespace simulator
