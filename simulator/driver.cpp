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

ze_result_t checkCall(const char *call, Arguments handles, Arguments pointers) {
  trace(call);
  for (const void *handle : handles)
    if (!handle) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  for (const void *pointer : pointers)
    if (!pointer) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return ZE_RESULT_SUCCESS;
}

ze_result_t answerString(const std::string &text, size_t *size, char *to) {
  if (!size) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (to && *size > text.size()) memcpy(to, text.c_str(), text.size() + 1);
  *size = text.size() + 1;
  return ZE_RESULT_SUCCESS;
}

// Every allocation holds a file descriptor, so the usual soft limit of 1024 is too low.
static void raiseDescriptorLimit() {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit)) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

static Driver *driverOf(const std::vector<uint32_t> &indices) {
  auto *made = new Driver;
  for (uint32_t index : indices) made->devices.push_back(new Device{index, settings().kinds[index], settings().memory});
  return made;
}

static Driver *start() {
  raiseDescriptorLimit();
  // Peers fetch descriptors with pidfd_getfd, which requires ptrace permission.
  if (settings().ipc == IpcMode::opaque || settings().ipc == IpcMode::opaqueStrict) prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  return driverOf(settings().devices);
}

Driver *driver() {
  static Driver *only = start();
  return only;
}

// NPUs have a driver of their own, which a program that asks for GPUs only does not get.
static Driver *npus() {
  static Driver *only = driverOf(settings().npus);
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
  if (auto error = checkCall(__func__, {driver}, {version})) return error;
  *version = API_VERSION;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetProperties(ze_driver_handle_t driver, ze_driver_properties_t *properties) {
  if (auto error = checkCall(__func__, {driver}, {properties})) return error;
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
  if (auto error = checkCall(__func__, {driver}, {properties})) return error;
  properties->flags = ZE_IPC_PROPERTY_FLAG_MEMORY;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDriverGetExtensionProperties(ze_driver_handle_t driver, uint32_t *count,
                                                  ze_driver_extension_properties_t *list) {
  if (auto error = checkCall(__func__, {driver})) return error;
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
  if (auto error = checkCall(__func__, {driver}, {name, function})) return error;
  *function = extensionFunction(name);
  if (*function) return ZE_RESULT_SUCCESS;
  if (settings().trace) complain("no extension function %s", name);
  return ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

ZE_API ze_result_t zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                   ze_context_handle_t *context) {
  if (auto error = checkCall(__func__, {driver}, {desc, context})) return error;
  *context = new Context{driver};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeContextDestroy(ze_context_handle_t context) { return destroy(__func__, context); }

}  // namespace simulator
