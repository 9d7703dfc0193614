// Device properties: each device is one tile of an Intel Data Center GPU Max 1550.
#include "driver.hpp"

#include <cstdio>
#include <cstring>
#include <sched.h>

#include "opencl.hpp"

namespace simulator {

static const uint32_t clockMHz = 1600;
static const uint32_t ipVersion = 12u << 22 | 60u << 14 | 7;  // architecture, release, revision

// By kind.
static const char *const names[] = {"Intel(R) Data Center GPU Max 1550", "Intel(R) Graphics", "Intel(R) AI Boost"};

// What the OpenCL runtime, which may not be loaded yet, uses.
static uint32_t processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

static ze_uuid_t deviceUuid(const Device *device) {
  ze_uuid_t uuid = {};
  memcpy(uuid.id, "simulator", 9);
  memcpy(uuid.id + 12, &device->index, sizeof device->index);
  return uuid;
}

ZE_API ze_result_t zeDeviceGet(ze_driver_handle_t driver, uint32_t *count, ze_device_handle_t *list) {
  if (auto error = checkCall(__func__, {driver})) return error;
  return answerList((uint32_t)driver->devices.size(), count, list,
                    [driver](ze_device_handle_t &device, uint32_t i) { device = driver->devices[i]; });
}

ZE_API ze_result_t zeDeviceGetSubDevices(ze_device_handle_t device, uint32_t *count, ze_device_handle_t *) {
  if (auto error = checkCall(__func__, {device}, {count})) return error;
  *count = 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetRootDevice(ze_device_handle_t device, ze_device_handle_t *root) {
  if (auto error = checkCall(__func__, {device}, {root})) return error;
  *root = nullptr;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetStatus(ze_device_handle_t device) {
  if (auto error = checkCall(__func__, {device})) return error;
  return status(true);
}

ZE_API ze_result_t zeDeviceGetProperties(ze_device_handle_t device, ze_device_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  p->type = device->kind == DeviceKind::npu ? ZE_DEVICE_TYPE_VPU : ZE_DEVICE_TYPE_GPU;
  p->vendorId = 0x8086;
  p->deviceId = 0x0bd5;
  p->flags = device->kind == DeviceKind::integrated ? ZE_DEVICE_PROPERTY_FLAG_INTEGRATED : 0;
  p->subdeviceId = p->maxCommandQueuePriority = 0;
  p->coreClockRate = clockMHz;
  p->maxMemAllocSize = device->memory;
  p->maxHardwareContexts = 65536;
  p->numThreadsPerEU = 8;
  p->physicalEUSimdWidth = 1;  // the runtime executes the work-items of a group one after the other
  p->numEUsPerSubslice = 8;
  p->numSubslicesPerSlice = processors();  // as many work-groups run at the same time
  if (device->kind == DeviceKind::integrated) p->numSubslicesPerSlice = 1;
  p->numSlices = 1;
  // Nanoseconds per tick in structure version 1.0, ticks per second in version 1.2.
  p->timerResolution = p->stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000 : 1;
  p->timestampValidBits = p->kernelTimestampValidBits = 64;
  p->uuid = deviceUuid(device);
  snprintf(p->name, sizeof p->name, "%s (simulated)", names[(int)device->kind]);
  auto *ip = chained<ze_device_ip_version_ext_t>(p, ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT);
  if (ip) ip->ipVersion = ipVersion;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetComputeProperties(ze_device_handle_t device,
                                                ze_device_compute_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  p->maxTotalGroupSize = maxGroupSize;
  p->maxGroupSizeX = p->maxGroupSizeY = p->maxGroupSizeZ = maxGroupSize;
  p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = UINT32_MAX;
  p->maxSharedLocalMemory = (uint32_t)localMemorySize();
  p->numSubGroupSizes = 2;
  memset(p->subGroupSizes, 0, sizeof p->subGroupSizes);
  p->subGroupSizes[0] = 16;
  p->subGroupSizes[1] = maxSubgroupSize;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetModuleProperties(ze_device_handle_t device, ze_device_module_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  p->spirvVersionSupported = 1u << 16 | 4;
  p->flags = ZE_DEVICE_MODULE_FLAG_FP16 | ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
  p->fp16flags = p->fp32flags = p->fp64flags = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
                                               ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_FMA;
  p->maxArgumentsSize = 2048;
  p->printfBufferSize = 4 << 20;
  memcpy(p->nativeKernelSupported.id, "ishmem-simulator", sizeof p->nativeKernelSupported.id);
  auto *atomics = chained<ze_float_atomic_ext_properties_t>(p, ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES);
  if (!atomics) return ZE_RESULT_SUCCESS;
  atomics->fp16Flags = 0;
  atomics->fp32Flags = atomics->fp64Flags =
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE |
      ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD | ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX;
  return ZE_RESULT_SUCCESS;
}

// As on the hardware: one group for compute, one main copy engine, and link copy engines.
ZE_API ze_result_t zeDeviceGetCommandQueueGroupProperties(ze_device_handle_t device, uint32_t *count,
                                                          ze_command_queue_group_properties_t *list) {
  if (auto error = checkCall(__func__, {device})) return error;
  return answerList(3, count, list, [](ze_command_queue_group_properties_t &group, uint32_t i) {
    group.flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    if (i == computeGroup) group.flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    group.maxMemoryFillPatternSize = maxFillPattern;
    group.numQueues = i == computeGroup ? settings().engines : i == 1 ? 1 : 7;
  });
}

ZE_API ze_result_t zeDeviceGetGlobalTimestamps(ze_device_handle_t device, uint64_t *host, uint64_t *ticks) {
  if (auto error = checkCall(__func__, {device}, {host, ticks})) return error;
  *host = *ticks = nanoseconds();
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDevicePciGetPropertiesExt(ze_device_handle_t device, ze_pci_ext_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  p->address = {0, 0x40 + device->index, 0, 0};
  p->maxSpeed = {5, 16, 64000000000};
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
