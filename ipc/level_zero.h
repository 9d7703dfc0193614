// The part of the Level Zero C ABI that ishmem calls and the simulator implements: structures and enumeration values under
// their public names. pyze.py reads them from this text: a structure has no comments, and each enumerator its value.
// Handles are pointers, so here they point at the simulator's own classes.
// Written here, since a source build downloads nothing but build requirements from PyPI, which has no package with the
// headers (only distributions have, as Debian's libze-dev).
#pragma once

#include <cstddef>
#include <cstdint>

#define ZE_API extern "C" __attribute__((visibility("default")))

namespace simulator {
struct Driver;
struct Device;
struct Context;
struct Event;
struct EventPool;
struct Fence;
class Queue;
struct CommandList;
struct Module;
struct BuildLog;
struct Kernel;
}  // namespace simulator

using ze_driver_handle_t = simulator::Driver *;
using ze_device_handle_t = simulator::Device *;
using ze_context_handle_t = simulator::Context *;
using ze_event_handle_t = simulator::Event *;
using ze_event_pool_handle_t = simulator::EventPool *;
using ze_fence_handle_t = simulator::Fence *;
using ze_command_queue_handle_t = simulator::Queue *;
using ze_command_list_handle_t = simulator::CommandList *;
using ze_module_handle_t = simulator::Module *;
using ze_module_build_log_handle_t = simulator::BuildLog *;
using ze_kernel_handle_t = simulator::Kernel *;
using ze_bool_t = uint8_t;

enum ze_result_t : uint32_t {
  ZE_RESULT_SUCCESS = 0,
  ZE_RESULT_NOT_READY = 1,
  ZE_RESULT_ERROR_DEVICE_LOST = 0x70000001,
  ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY = 0x70000002,
  ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY = 0x70000003,
  ZE_RESULT_ERROR_MODULE_BUILD_FAILURE = 0x70000004,
  ZE_RESULT_ERROR_MODULE_LINK_FAILURE = 0x70000005,
  ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET = 0x70000006,
  ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE = 0x70000007,
  ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS = 0x70010000,
  ZE_RESULT_ERROR_NOT_AVAILABLE = 0x70010001,
  ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE = 0x70020000,
  ZE_RESULT_WARNING_DROPPED_DATA = 0x70020001,
  ZE_RESULT_ERROR_UNINITIALIZED = 0x78000001,
  ZE_RESULT_ERROR_UNSUPPORTED_VERSION = 0x78000002,
  ZE_RESULT_ERROR_UNSUPPORTED_FEATURE = 0x78000003,
  ZE_RESULT_ERROR_INVALID_ARGUMENT = 0x78000004,
  ZE_RESULT_ERROR_INVALID_NULL_HANDLE = 0x78000005,
  ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE = 0x78000006,
  ZE_RESULT_ERROR_INVALID_NULL_POINTER = 0x78000007,
  ZE_RESULT_ERROR_INVALID_SIZE = 0x78000008,
  ZE_RESULT_ERROR_UNSUPPORTED_SIZE = 0x78000009,
  ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT = 0x7800000a,
  ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT = 0x7800000b,
  ZE_RESULT_ERROR_INVALID_ENUMERATION = 0x7800000c,
  ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION = 0x7800000d,
  ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT = 0x7800000e,
  ZE_RESULT_ERROR_INVALID_NATIVE_BINARY = 0x7800000f,
  ZE_RESULT_ERROR_INVALID_GLOBAL_NAME = 0x78000010,
  ZE_RESULT_ERROR_INVALID_KERNEL_NAME = 0x78000011,
  ZE_RESULT_ERROR_INVALID_FUNCTION_NAME = 0x78000012,
  ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION = 0x78000013,
  ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION = 0x78000014,
  ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX = 0x78000015,
  ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE = 0x78000016,
  ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE = 0x78000017,
  ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED = 0x78000018,
  ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE = 0x78000019,
  ZE_RESULT_ERROR_OVERLAPPING_REGIONS = 0x7800001a,
  ZE_RESULT_WARNING_ACTION_REQUIRED = 0x7800001b,
  ZE_RESULT_ERROR_UNKNOWN = 0x7ffffffe,
};

// The version of Level Zero: major and minor.
constexpr uint32_t API_VERSION = 1u << 16 | 6;

// The tags of the structures that ishmem passes, and of those that may be chained behind another; the simulator looks only
// at the latter.
enum ze_structure_type_t : uint32_t {
  ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES = 0x1,
  ZE_STRUCTURE_TYPE_DRIVER_IPC_PROPERTIES = 0x2,
  ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES = 0x3,
  ZE_STRUCTURE_TYPE_DEVICE_COMPUTE_PROPERTIES = 0x4,
  ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES = 0x6,
  ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES = 0x7,
  ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES = 0x8,
  ZE_STRUCTURE_TYPE_DEVICE_P2P_PROPERTIES = 0xb,
  ZE_STRUCTURE_TYPE_CONTEXT_DESC = 0xd,
  ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC = 0xe,
  ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC = 0xf,
  ZE_STRUCTURE_TYPE_EVENT_POOL_DESC = 0x10,
  ZE_STRUCTURE_TYPE_EVENT_DESC = 0x11,
  ZE_STRUCTURE_TYPE_FENCE_DESC = 0x12,
  ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC = 0x15,
  ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC = 0x16,
  ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES = 0x17,
  ZE_STRUCTURE_TYPE_MODULE_DESC = 0x1b,
  ZE_STRUCTURE_TYPE_KERNEL_DESC = 0x1d,
  ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES = 0x1e,
  ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES = 0x10008,
  ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES = 0x21,
  ZE_STRUCTURE_TYPE_FLOAT_ATOMIC_EXT_PROPERTIES = 0x10003,
  ZE_STRUCTURE_TYPE_DRIVER_MEMORY_FREE_EXT_PROPERTIES = 0x10009,
  ZE_STRUCTURE_TYPE_DEVICE_IP_VERSION_EXT = 0x1000f,
  ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES = 0x1000e,
  ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC = 0x20014,
  ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC = 0x20002,
  ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 = 0x20006,
};

// The head of every tagged structure. Public headers repeat these two members in each of them.
struct ze_tagged_t {
  ze_structure_type_t stype;
  void *pNext;
};

struct ze_uuid_t { uint8_t id[16]; };

// ---- drivers and devices

struct ze_driver_properties_t : ze_tagged_t {
  ze_uuid_t uuid;
  uint32_t driverVersion;
};

struct ze_driver_memory_free_ext_properties_t : ze_tagged_t { uint32_t freePolicies; };

enum : uint32_t { ZE_IPC_PROPERTY_FLAG_MEMORY = 1 };
struct ze_driver_ipc_properties_t : ze_tagged_t { uint32_t flags; };

struct ze_driver_extension_properties_t {
  char name[256];
  uint32_t version;
};

enum : uint32_t { ZE_INIT_FLAG_GPU_ONLY = 1, ZE_INIT_FLAG_VPU_ONLY = 2 };
enum : uint32_t { ZE_DEVICE_TYPE_GPU = 1, ZE_DEVICE_TYPE_VPU = 5 };
enum : uint32_t { ZE_DEVICE_PROPERTY_FLAG_INTEGRATED = 1, ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE = 2 };

struct ze_device_properties_t : ze_tagged_t {
  uint32_t type, vendorId, deviceId, flags, subdeviceId, coreClockRate;
  uint64_t maxMemAllocSize;
  uint32_t maxHardwareContexts, maxCommandQueuePriority;
  uint32_t numThreadsPerEU, physicalEUSimdWidth, numEUsPerSubslice, numSubslicesPerSlice, numSlices;
  uint64_t timerResolution;
  uint32_t timestampValidBits, kernelTimestampValidBits;
  ze_uuid_t uuid;
  char name[256];
};

struct ze_device_ip_version_ext_t : ze_tagged_t { uint32_t ipVersion; };

struct ze_device_compute_properties_t : ze_tagged_t {
  uint32_t maxTotalGroupSize, maxGroupSizeX, maxGroupSizeY, maxGroupSizeZ;
  uint32_t maxGroupCountX, maxGroupCountY, maxGroupCountZ;
  uint32_t maxSharedLocalMemory, numSubGroupSizes, subGroupSizes[8];
};

enum : uint32_t {
  ZE_DEVICE_MODULE_FLAG_FP16 = 1,
  ZE_DEVICE_MODULE_FLAG_FP64 = 2,
  ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS = 4,
};
enum : uint32_t {
  ZE_DEVICE_FP_FLAG_DENORM = 1,
  ZE_DEVICE_FP_FLAG_INF_NAN = 2,
  ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST = 4,
  ZE_DEVICE_FP_FLAG_FMA = 32,
};
struct ze_device_module_properties_t : ze_tagged_t {
  uint32_t spirvVersionSupported, flags, fp16flags, fp32flags, fp64flags;
  uint32_t maxArgumentsSize, printfBufferSize;
  ze_uuid_t nativeKernelSupported;
};

enum : uint32_t {
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_LOAD_STORE = 1 << 0,
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD = 1 << 1,
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX = 1 << 2,
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_LOAD_STORE = 1 << 16,
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_ADD = 1 << 17,
  ZE_DEVICE_FP_ATOMIC_EXT_FLAG_LOCAL_MIN_MAX = 1 << 18,
};
struct ze_float_atomic_ext_properties_t : ze_tagged_t { uint32_t fp16Flags, fp32Flags, fp64Flags; };

enum : uint32_t {
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE = 1,
  ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY = 2,
};
struct ze_command_queue_group_properties_t : ze_tagged_t {
  uint32_t flags;
  size_t maxMemoryFillPatternSize;
  uint32_t numQueues;
};

struct ze_device_memory_properties_t : ze_tagged_t {
  uint32_t flags, maxClockRate, maxBusWidth;
  uint64_t totalSize;
  char name[256];
};

enum : uint32_t { ZE_DEVICE_MEMORY_EXT_TYPE_HBM2 = 1, ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC = 1 };
struct ze_device_memory_ext_properties_t : ze_tagged_t {
  uint32_t type;
  uint64_t physicalSize;
  uint32_t readBandwidth, writeBandwidth, bandwidthUnit;
};

enum : uint32_t {
  ZE_MEMORY_ACCESS_CAP_FLAG_RW = 1,
  ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC = 2,
  ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT = 4,
  ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC = 8,
};
struct ze_device_memory_access_properties_t : ze_tagged_t {
  uint32_t hostAllocCapabilities, deviceAllocCapabilities, sharedSingleDeviceAllocCapabilities;
  uint32_t sharedCrossDeviceAllocCapabilities, sharedSystemAllocCapabilities;
};

struct ze_device_cache_properties_t : ze_tagged_t {
  uint32_t flags;
  size_t cacheSize;
};

struct ze_device_image_properties_t : ze_tagged_t {
  uint32_t maxImageDims1D, maxImageDims2D, maxImageDims3D;
  uint64_t maxImageBufferSize;
  uint32_t maxImageArraySlices, maxSamplers, maxReadImageArgs, maxWriteImageArgs;
};

enum : uint32_t { ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS = 1, ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS = 2 };
struct ze_device_p2p_properties_t : ze_tagged_t { uint32_t flags; };

struct ze_pci_ext_properties_t : ze_tagged_t {
  struct { uint32_t domain, bus, device, function; } address;
  struct { int32_t genVersion, width; int64_t maxBandwidth; } maxSpeed;
};

// ---- contexts and memory

struct ze_context_desc_t : ze_tagged_t { uint32_t flags; };
struct ze_device_mem_alloc_desc_t : ze_tagged_t { uint32_t flags, ordinal; };
struct ze_host_mem_alloc_desc_t : ze_tagged_t { uint32_t flags; };
enum : uint32_t {
  ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_BLOCKING_FREE = 1,
  ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE = 2,
};
struct ze_memory_free_ext_desc_t : ze_tagged_t { uint32_t freePolicy; };

enum ze_memory_type_t : uint32_t {
  ZE_MEMORY_TYPE_UNKNOWN = 0,
  ZE_MEMORY_TYPE_HOST = 1,
  ZE_MEMORY_TYPE_DEVICE = 2,
  ZE_MEMORY_TYPE_SHARED = 3,
};
struct ze_memory_allocation_properties_t : ze_tagged_t {
  ze_memory_type_t type;
  uint64_t id, pageSize;
};

struct ze_ipc_mem_handle_t { char data[64]; };

// ---- queues, lists, fences and events

enum : uint32_t {
  ZE_COMMAND_QUEUE_MODE_DEFAULT = 0,
  ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS = 1,
  ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS = 2,
  ZE_COMMAND_QUEUE_FLAG_IN_ORDER = 2,
};
struct ze_command_queue_desc_t : ze_tagged_t { uint32_t ordinal, index, flags, mode, priority; };
enum : uint32_t { ZE_COMMAND_LIST_FLAG_IN_ORDER = 8 };
struct ze_command_list_desc_t : ze_tagged_t { uint32_t commandQueueGroupOrdinal, flags; };
struct ze_copy_region_t { uint32_t originX, originY, originZ, width, height, depth; };

enum : uint32_t { ZE_FENCE_FLAG_SIGNALED = 1 };
struct ze_fence_desc_t : ze_tagged_t { uint32_t flags; };
enum : uint32_t { ZE_EVENT_POOL_FLAG_HOST_VISIBLE = 1, ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP = 4 };
enum : uint32_t { ZE_EVENT_SCOPE_FLAG_HOST = 4 };
struct ze_event_pool_desc_t : ze_tagged_t { uint32_t flags, count; };
struct ze_event_pool_counter_based_exp_desc_t : ze_tagged_t { uint32_t flags; };
struct ze_event_desc_t : ze_tagged_t { uint32_t index, signal, wait; };
struct ze_kernel_timestamp_data_t { uint64_t kernelStart, kernelEnd; };
struct ze_kernel_timestamp_result_t { ze_kernel_timestamp_data_t global, context; };

// ---- modules and kernels

enum : uint32_t { ZE_MODULE_FORMAT_IL_SPIRV = 0, ZE_MODULE_FORMAT_NATIVE = 1 };
struct ze_module_constants_t {
  uint32_t numConstants;
  const uint32_t *pConstantIds;
  const void **pConstantValues;
};
struct ze_module_desc_t : ze_tagged_t {
  uint32_t format;
  size_t inputSize;
  const uint8_t *pInputModule;
  const char *pBuildFlags;
  const ze_module_constants_t *pConstants;
};
struct ze_module_program_exp_desc_t : ze_tagged_t {
  uint32_t count;
  const size_t *inputSizes;
  const uint8_t **pInputModules;
  const char **pBuildFlags;
  const ze_module_constants_t **pConstants;
};
struct ze_module_properties_t : ze_tagged_t { uint32_t flags; };

struct ze_kernel_desc_t : ze_tagged_t {
  uint32_t flags;
  const char *pKernelName;
};
struct ze_kernel_properties_t : ze_tagged_t {
  uint32_t numKernelArgs, requiredGroupSizeX, requiredGroupSizeY, requiredGroupSizeZ;
  uint32_t requiredNumSubGroups, requiredSubgroupSize, maxSubgroupSize, maxNumSubgroups;
  uint32_t localMemSize, privateMemSize, spillMemSize;
  struct { uint8_t kid[16], mid[16]; } uuid;
};
struct ze_kernel_preferred_group_size_properties_t : ze_tagged_t { uint32_t preferredMultiple; };
struct ze_group_count_t { uint32_t groupCountX, groupCountY, groupCountZ; };
