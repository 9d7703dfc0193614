#include "opencl.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "imports.hpp"
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
#define BIND(result, name, ...) &&bind(library, #name, cl.name)
  return true OPENCL_FUNCTIONS(BIND);
#undef BIND
}

static void bindExtensions(OpenCl &cl) {
#define BIND(result, name, ...) \
  cl.name = (result(*)(__VA_ARGS__))cl.clGetExtensionFunctionAddressForPlatform(cl.platform, #name);
  OPENCL_EXTENSIONS(BIND)
#undef BIND
}

// Replaces sched_setaffinity and pthread_setaffinity_np: the runtime pins each thread that runs kernels, in every process
// to the same cores, so kernels of two PEs that wait for each other would share a core.
static int pinNothing(uintptr_t, size_t, const void *) { return 0; }

// Standard error goes to memory for as long as this lives, and what came then, without the runtime's warning about a CPU
// that is newer than it, goes to where standard error went before.
class WithoutWarning {
 public:
  WithoutWarning() {
    fflush(stderr);
    if (before_ >= 0 && memory_ >= 0) dup2(memory_, 2);
  }
  ~WithoutWarning() {
    fflush(stderr);
    if (before_ >= 0 && memory_ >= 0) {
      dup2(before_, 2);
      writeOthers();
    }
    if (before_ >= 0) close(before_);
    if (memory_ >= 0) close(memory_);
  }

 private:
  const int before_ = fcntl(2, F_DUPFD_CLOEXEC, 3), memory_ = memfd_create("stderr", MFD_CLOEXEC);

  void writeOthers() const {
    std::string text(std::max<off_t>(lseek(memory_, 0, SEEK_END), 0), 0);
    text.resize(std::max<ssize_t>(pread(memory_, &text[0], text.size(), 0), 0));
    const std::string warning = "SYCL CPU RT Warning: Unknown host CPU.\n";
    for (size_t at; (at = text.find(warning)) != std::string::npos;) text.erase(at, warning.size());
    for (size_t done = 0; done < text.size();) {
      const ssize_t written = write(2, text.data() + done, text.size() - done);
      if (written <= 0) return;
      done += written;
    }
  }
};

// Keeps the program's signal handlers and this thread's stack for them: the LLVM in the runtime replaces both, and does
// not call the handlers of SIGUSR1.
class KeptHandlers {
  static const int COUNT = 32;
  struct sigaction before_[COUNT] = {};
  stack_t stack_ = {};

public:
  KeptHandlers() {
    for (int number = 1; number < COUNT; ++number) sigaction(number, nullptr, &before_[number]);
    sigaltstack(nullptr, &stack_);
  }

  ~KeptHandlers() {
    for (int number = 1; number < COUNT; ++number)
      if (number != SIGKILL && number != SIGSTOP) sigaction(number, &before_[number], nullptr);
    sigaltstack(&stack_, nullptr);
  }
};

static bool openDevice(OpenCl &cl) {
  int32_t error = cl.clGetPlatformIDs(1, &cl.platform, nullptr);
  if (!error) error = cl.clGetDeviceIDs(cl.platform, CL_DEVICE_TYPE_CPU, 1, &cl.device, nullptr);
  if (!error) {
    const WithoutWarning here;
    cl.context = cl.clCreateContext(nullptr, 1, &cl.device, nullptr, nullptr, &error);
  }
  if (error) {
    complain("%s has no CPU device (OpenCL error %d)", settings().opencl.c_str(), error);
    return false;
  }
  bindExtensions(cl);
  if (!cl.clSetKernelArgMemPointerINTEL) complain("%s takes no USM pointers", settings().opencl.c_str());
  return cl.clSetKernelArgMemPointerINTEL;
}

// For a CPU that the runtime does not know, it would compile for the oldest x86-64, and its compiler crashes on some
// kernels of MKL. It knows Intel's. The names are the runtime's.
static const char *instructionSet() {
  __builtin_cpu_init();
  if (__builtin_cpu_is("intel")) return nullptr;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  if (avx512) return "skx";
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? "core-avx2" : nullptr;
}

// The runtime reads its variables when it is first used, which may be by SYCL's OpenCL plugin before the first Level
// Zero call. Hence a constructor.
__attribute__((constructor)) static void setDefaultsOfRuntime() {
  setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "136KB", 0);  // see localMemorySize; its own is 32 KiB
  if (const char *name = instructionSet()) setenv("CL_CONFIG_CPU_TARGET_ARCH", name, 0);
}

static const OpenCl *open() {
  const KeptHandlers here;
  void *library = dlopen(settings().opencl.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    complain("no OpenCL CPU runtime: %s (ISHMEM_SIM_OPENCL names it)", dlerror());
    return nullptr;
  }
  for (const char *name : {"sched_setaffinity", "pthread_setaffinity_np"}) redirectCalls(library, name, (void *)pinNothing);
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

// 2026.22 (the wheel 2026.2) is the oldest version that has been tested; 2024.18 gives wrong results.
bool isCurrent() {
  const OpenCl *cl = openCl();
  char version[256] = "";
  int year = 0, release = 0;
  if (cl) cl->clGetDeviceInfo(cl->device, CL_DRIVER_VERSION, sizeof version - 1, version, nullptr);
  return sscanf(version, "%d.%d", &year, &release) == 2 && (year > 2026 || (year == 2026 && release >= 22));
}

size_t groupsAtOnce() {
  uint32_t units = 1;
  if (const OpenCl *cl = openCl()) cl->clGetDeviceInfo(cl->device, CL_DEVICE_MAX_COMPUTE_UNITS, 4, &units, nullptr);
  return units;
}

// SYCL asks for it as soon as it lists the devices. The runtime is loaded then, before SYCL's OpenCL plugin loads it: in
// that, the handlers of the program would not be kept.
size_t localMemorySize() {
  uint64_t size = (32 << 10) + barrierTables;
  if (const OpenCl *cl = openCl()) cl->clGetDeviceInfo(cl->device, CL_DEVICE_LOCAL_MEM_SIZE, 8, &size, nullptr);
  return size - barrierTables;
}

}  // namespace simulator
