// Initialisation, the driver, and contexts.
#include "driver.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <sys/prctl.h>
#include <sys/resource.h>

namespace simulator {

std::atomic<bool> lost{false}, hung{false};

uint64_t nanoseconds() {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

// Every allocation holds a file descriptor, so the usual soft limit of 1024 is too low.
static void raiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static Device *makeDevice(uint32_t index) {
  auto *device = new Device;
  device->index = index;
  device->kind = settings().kinds[index];
  device->memory = settings().memory;
  return device;
}

static Driver *start() {
  raiseDescriptorLimit();
  // Peers fetch descriptors with pidfd_getfd, which requires ptrace permission.
  if (settings().ipc == IpcMode::opaque || settings().ipc == IpcMode::opaqueStrict) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  auto *started = new Driver;
  for (uint32_t index : settings().devices) started->devices.push_back(makeDevice(index));
  return started;
}

static Driver *startOfNpus() {
  auto *started = new Driver;
  for (uint32_t index = 0; index < settings().kinds.size(); ++index)
    if (settings().kinds[index] == Kind::npu) started->devices.push_back(makeDevice(index));
  return started;
}

Driver *driver() {
  static Driver *only = start();
  return only;
}

// NPUs have a driver of their own, which those do not see who ask for GPUs only.
static Driver *npus() {
  static Driver *only = startOfNpus();
  return only;
}

static std::atomic<bool> showsNpus{false};

ZE_API ze_result_t zeInit(uint32_t flags) {
  trace(__func__);
  if (flags == ZE_INIT_FLAG_VPU_ONLY) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  if (driver()->devices.empty() && npus()->devices.empty()) return ZE_RESULT_ERROR_UNINITIALIZED;  // as Intel's
  if (flags != ZE_INIT_FLAG_GPU_ONLY && !npus()->devices.empty()) showsNpus = true;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGet(uint32_t *count, ze_driver_handle_t *drivers) {
  trace(__func__);
  return answerList(showsNpus ? 2 : 1, count, drivers,
                    [](ze_driver_handle_t &handle, uint32_t i) { handle = i == 0 ? driver() : npus(); });
}

ZE_API ze_result_t zeDriverGetApiVersion(ze_driver_handle_t driver, uint32_t *version) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!version) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *version = API_VERSION;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t *properties) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  memcpy(properties->uuid.id, "ishmem-simulator", sizeof properties->uuid.id);
  properties->driverVersion = 1u << 24 | 6u << 16 | 1;
  auto *freeing = chained<ze_driver_memory_free_ext_properties_t>(
      properties, ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES);
  if (freeing)
    freeing->freePolicies =
        ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE | ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetIpcProperties(ze_driver_handle_t driver,
                                            ze_driver_ipc_properties_t *properties) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!properties) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t *count,
                                                  ze_driver_extension_properties_t *list) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  static const char *const names[] = {
      "ZE_experimental_event_pool_counter_based", "ZE_experimental_global_offset",
      "ZE_experimental_immediate_command_list_append", "ZE_experimental_module_program",
      "ZE_extension_float_atomics",               "ZE_extension_memory_free_policies", "ZE_extension_pci_properties"};
  return answerList(sizeof names / sizeof *names, count, list, [](auto &extension, uint32_t i) {
    snprintf(extension.name, sizeof extension.name, "%s", names[i]);
    extension.version = 1u << 16;
  });
}

ZE_API ze_result_t zeKernelSetGlobalOffsetExp(ze_kernel_handle_t, uint32_t, uint32_t, uint32_t);
ze_result_t zexMemGetIpcHandles(ze_context_handle_t, const void *, uint32_t *, ze_ipc_mem_handle_t *);
ze_result_t zexMemOpenIpcHandles(ze_context_handle_t, ze_device_handle_t, uint32_t, ze_ipc_mem_handle_t *, uint32_t,
                                 void **);

static ze_result_t zexDriverCalls(uint64_t *count) {
  *count = driverCalls.load(std::memory_order_relaxed);
  return ZE_RESULT_SUCCESS;
}

static void *extensionFunction(const char *name) {
  if (strcmp(name, "zexDriverCalls") == 0) return (void *)&zexDriverCalls;
  if (strcmp(name, "zeKernelSetGlobalOffsetExp") == 0) return (void *)&zeKernelSetGlobalOffsetExp;
  if (strcmp(name, "zexMemGetIpcHandles") == 0) return (void *)&zexMemGetIpcHandles;
  if (strcmp(name, "zexMemOpenIpcHandles") == 0) return (void *)&zexMemOpenIpcHandles;
  return nullptr;
}

ZE_API ze_result_t zeDriverGetExtensionFunctionAddress(ze_driver_handle_t driver, const char *name,
                                                       void **function) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(name, function)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *function = extensionFunction(name);
  if (*function) return ZE_RESULT_SUCCESS;
  if (settings().trace) complain("no extension function %s", name);
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ZE_API ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                   ze_context_handle_t *context) {
  trace(__func__);
  if (!driver) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(desc, context)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *context = new Context{driver};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeContextDestroy(ze_context_handle_t context) {
  trace(__func__);
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  delete context;
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
