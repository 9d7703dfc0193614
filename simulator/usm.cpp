// Unified shared memory: allocation and queries. Device and host memory are memfds. Shared memory is anonymous, because
// it cannot be exported.
#include "memory.hpp"

#include <algorithm>
#include <unistd.h>

#include "faults.hpp"

namespace simulator {

static bool reserveOn(Device *device, size_t size) {
  uint64_t used = device->used.load();
  do {
    if (size > device->memory - used) return false;
  } while (!device->used.compare_exchange_weak(used, used + size));
  return true;
}

// Creates memfds in the layout of the simulated IPC format: device memory starts at a pool offset or is spread over two
// tiles.
static bool createParts(ze_memory_type_t type, const Device *owner, size_t size, std::vector<MemoryPart> &parts) {
  const IpcMode mode = settings().ipc;
  const bool device = type == ZE_MEMORY_TYPE_DEVICE;
  const size_t offset = device && mode != IpcMode::fd && mode != IpcMode::tiles ? poolOffset : 0;
  const size_t first = device && mode == IpcMode::tiles && size > pageSize ? wholePages(size / 2) : size;
  for (size_t done = 0; done < size; done += first) {
    const size_t part = std::min(first, size - done);
    const int fd = createMemfd(offset + part, device ? (int)owner->index : -1);
    if (fd < 0) return false;
    parts.push_back({fd, offset, part});
  }
  return true;
}

static ze_result_t allocate(ze_memory_type_t type, Device *device, size_t size, size_t alignment, void **address) {
  if (size == 0) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if (alignment & (alignment - 1)) return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
  if (size > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
  if (device && !reserveOn(device, size)) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  ze_result_t result = ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  std::vector<MemoryPart> parts;
  if (type == ZE_MEMORY_TYPE_SHARED || createParts(type, device, wholePages(size), parts))
    result = memory().map({size, type, device, false, parts}, alignment, address);
  if (result == ZE_RESULT_SUCCESS) return result;
  for (const MemoryPart &part : parts) close(part.fd);
  if (device) device->used -= size;
  return result;
}

ZE_API ze_result_t zeMemAllocDevice(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc,
                                    size_t size, size_t alignment, ze_device_handle_t device, void **address) {
  if (auto error = checkCall(__func__, {context, device}, {desc, address})) return error;
  if (fails(Fault::alloc)) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  return allocate(ZE_MEMORY_TYPE_DEVICE, device, size, alignment, address);
}

ZE_API ze_result_t zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size,
                                  size_t alignment, void **address) {
  if (auto error = checkCall(__func__, {context}, {desc, address})) return error;
  return allocate(ZE_MEMORY_TYPE_HOST, nullptr, size, alignment, address);
}

ZE_API ze_result_t zeMemAllocShared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *deviceDesc,
                                    const ze_host_mem_alloc_desc_t *hostDesc, size_t size, size_t alignment,
                                    ze_device_handle_t device, void **address) {
  if (auto error = checkCall(__func__, {context}, {deviceDesc, hostDesc, address})) return error;
  return allocate(ZE_MEMORY_TYPE_SHARED, device, size, alignment, address);
}

ZE_API ze_result_t zeMemFree(ze_context_handle_t context, void *address) {
  if (auto error = checkCall(__func__, {context}, {address})) return error;
  return memory().release(address, false);
}

// Both policies, to block until the memory is unused and to defer, allow to free memory that submitted work uses.
ZE_API ze_result_t zeMemFreeExt(ze_context_handle_t context, const ze_memory_free_ext_desc_t *desc, void *address) {
  if (auto error = checkCall(__func__, {context}, {desc, address})) return error;
  if (desc->freePolicy > ZE_DRIVER_MEMORY_FREE_POLICY_EXT_FLAG_DEFER_FREE) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  return desc->freePolicy ? memory().releaseAfterWork(address) : memory().release(address, false);
}

ZE_API ze_result_t zeMemGetAddressRange(ze_context_handle_t context, const void *address, void **base,
                                        size_t *size) {
  if (auto error = checkCall(__func__, {context}, {address})) return error;
  std::lock_guard<std::mutex> lock(memory().mutex);
  const Allocation *a = memory().find(address);
  if (!a) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (base) *base = a->base;
  if (size) *size = a->size;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemGetAllocProperties(ze_context_handle_t context, const void *address,
                                           ze_memory_allocation_properties_t *properties,
                                           ze_device_handle_t *device) {
  if (auto error = checkCall(__func__, {context}, {address, properties})) return error;
  std::lock_guard<std::mutex> lock(memory().mutex);
  const Allocation *a = memory().find(address);
  properties->type = a ? a->type : ZE_MEMORY_TYPE_UNKNOWN;
  properties->id = a ? a->id : 0;
  properties->pageSize = a ? pageSize : 0;
  if (device) *device = a ? a->device : nullptr;
  return ZE_RESULT_SUCCESS;
}

// All memory is always resident, so only the arguments are checked. A real driver needs the calls.
static bool isAllocated(const void *address, size_t size) {
  const Allocation *a = memory().find(address);
  return a && size <= a->mapped - (size_t)((const char *)address - a->base);
}

ZE_API ze_result_t zeContextMakeMemoryResident(ze_context_handle_t context, ze_device_handle_t device,
                                               void *address, size_t size) {
  if (auto error = checkCall(__func__, {context, device}, {address})) return error;
  std::lock_guard<std::mutex> lock(memory().mutex);
  const Allocation *a = memory().find(address);
  if (a && a->imported && fails(Fault::resident)) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  return isAllocated(address, size) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

// Nothing here calls it, but the memory pools of SYCL's v2 adapter look up its name.
ZE_API ze_result_t zeContextEvictMemory(ze_context_handle_t context, ze_device_handle_t device, void *address, size_t size) {
  if (auto error = checkCall(__func__, {context, device}, {address})) return error;
  std::lock_guard<std::mutex> lock(memory().mutex);
  return isAllocated(address, size) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

}  // namespace simulator
