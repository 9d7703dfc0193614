// IPC handles. In every handle format of Intel's driver the first int is a file descriptor. The importer replaces it
// with the number of the descriptor that it received.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/syscall.h>
#include <unistd.h>

#include "faults.hpp"
#include "memory.hpp"

namespace simulator {

#pragma pack(push, 1)
struct HandleData {
  uint64_t fd;
  uint64_t poolOffset;
  uint8_t type;  // 1: host memory
};

struct OpaqueHandleData {
  uint64_t fd;
  uint64_t poolOffset;
  uint32_t pid;  // process ID of the exporter
  uint8_t kind;  // 0: file descriptor
  uint8_t type;
  uint64_t exportedFd;  // equal to fd unless the importer has patched fd
};
#pragma pack(pop)

static bool isOpaque() { return settings().ipc == IpcMode::opaque || settings().ipc == IpcMode::opaqueStrict; }

static ze_ipc_mem_handle_t makeHandle(const Allocation &a, const MemoryPart &part) {
  ze_ipc_mem_handle_t handle = {};
  auto fd = (uint64_t)part.exported;
  uint8_t type = a.type == ZE_MEMORY_TYPE_HOST;
  HandleData data = {fd, part.offset, type};
  OpaqueHandleData opaque = {fd, part.offset, (uint32_t)getpid(), 0, type, fd};
  if (isOpaque())
    memcpy(&handle, &opaque, sizeof opaque);
  else
    memcpy(&handle, &data, settings().ipc == IpcMode::fd ? sizeof data.fd : sizeof data);
  return handle;
}

static int fetchFromExporter(const OpaqueHandleData &data) {
  int process = (int)syscall(SYS_pidfd_open, data.pid, 0);
  if (process < 0) return -1;
  int fd = (int)syscall(SYS_pidfd_getfd, process, (int)data.exportedFd, 0);
  close(process);
  return fd;
}

// Opens a new descriptor for the memory of a handle. Returns -1 on failure.
static int openDescriptor(const ze_ipc_mem_handle_t &handle, uint8_t *type) {
  HandleData data;
  OpaqueHandleData opaque;
  memcpy(&data, &handle, sizeof data);
  memcpy(&opaque, &handle, sizeof opaque);
  *type = isOpaque() ? opaque.type : data.type;
  bool patched = (int)opaque.fd != (int)opaque.exportedFd;
  if (settings().ipc == IpcMode::opaqueStrict && patched) return -1;
  if (!isOpaque() || patched) return fcntl((int)data.fd, F_DUPFD_CLOEXEC, 0);
  return fetchFromExporter(opaque);
}

// Replaces the memory of a part by new pages, of which the first are filled with 0xFF.
static bool replacePages(MemoryPart &part) {
  const size_t filled = std::min<size_t>(part.size, 1 << 20);
  const std::string bytes(filled, '\xff');
  close(part.fd);
  part.fd = createMemfd(part.offset + part.size, -1);
  return part.fd >= 0 && pwrite(part.fd, bytes.data(), filled, (off_t)part.offset) == (ssize_t)filled;
}

// Returns the part that a handle refers to. The caller must close the descriptor, even on failure.
static bool openPart(const ze_ipc_mem_handle_t &handle, const Device *device, MemoryPart &part, uint8_t *type) {
  size_t held;
  int owner;
  memcpy(&part.offset, handle.data + offsetof(HandleData, poolOffset), sizeof part.offset);
  part.fd = openDescriptor(handle, type);
  if (part.fd < 0 || !isMemfd(part.fd, &held, &owner) || part.offset >= held || part.offset % pageSize) return false;
  part.size = held - part.offset;
  if (owner >= 0 && misleads(device->index, (uint32_t)owner)) return replacePages(part);
  return owner < 0 || canAccess(device->index, (uint32_t)owner);
}

// Returns one handle per part, as Intel's driver does. zeMemGetIpcHandle returns only the first.
static ze_result_t getHandles(const void *address, uint32_t *count, ze_ipc_mem_handle_t *handles) {
  std::lock_guard<std::mutex> lock(memory().mutex);
  Allocation *a = memory().find(address);
  if (!a || a->parts.empty()) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  for (MemoryPart &part : a->parts) {
    if (part.exported < 0) part.exported = fcntl(part.fd, F_DUPFD_CLOEXEC, 0);
    if (part.exported < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  if (handles) ++a->exports;
  return answerList((uint32_t)a->parts.size(), count, handles,
                    [a](ze_ipc_mem_handle_t &handle, uint32_t i) { handle = makeHandle(*a, a->parts[i]); });
}

static ze_result_t openHandles(ze_device_handle_t device, uint32_t count, const ze_ipc_mem_handle_t *handles,
                               void **address) {
  if (fails(Fault::ipcOpen)) return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
  std::vector<MemoryPart> parts(count, MemoryPart{-1, 0, 0});
  ze_result_t result = ZE_RESULT_SUCCESS;
  uint8_t type = 0;
  size_t size = 0;
  for (uint32_t i = 0; i < count; ++i) {
    if (!openPart(handles[i], device, parts[i], &type)) result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    size += parts[i].size;
  }
  ze_memory_type_t kind = type == 1 ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE;
  if (result == ZE_RESULT_SUCCESS) result = memory().map({size, kind, device, true, parts}, pageSize, address);
  for (const MemoryPart &part : parts)
    if (result != ZE_RESULT_SUCCESS && part.fd >= 0) close(part.fd);
  return result;
}

ZE_API ze_result_t zeMemGetIpcHandle(ze_context_handle_t context, const void *address,
                                     ze_ipc_mem_handle_t *handle) {
  if (auto error = checkCall(__func__, {context}, {address, handle})) return error;
  uint32_t one = 1;
  return getHandles(address, &one, handle);
}

ze_result_t zexMemGetIpcHandles(ze_context_handle_t context, const void *address, uint32_t *count,
                                ze_ipc_mem_handle_t *handles) {
  if (auto error = checkCall(__func__, {context}, {address, count})) return error;
  return getHandles(address, count, handles);
}

ZE_API ze_result_t zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle) {
  if (auto error = checkCall(__func__, {context})) return error;
  int fd;
  memcpy(&fd, &handle, sizeof fd);
  std::lock_guard<std::mutex> lock(memory().mutex);
  Allocation *a = memory().findExported(fd);
  if (!a) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (--a->exports > 0) return ZE_RESULT_SUCCESS;
  for (MemoryPart &part : a->parts) {
    close(part.exported);
    part.exported = -1;
  }
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemOpenIpcHandle(ze_context_handle_t context, ze_device_handle_t device,
                                      ze_ipc_mem_handle_t handle, uint32_t, void **address) {
  if (auto error = checkCall(__func__, {context, device}, {address})) return error;
  return openHandles(device, 1, &handle, address);
}

ze_result_t zexMemOpenIpcHandles(ze_context_handle_t context, ze_device_handle_t device, uint32_t count,
                                 ze_ipc_mem_handle_t *handles, uint32_t, void **address) {
  if (auto error = checkCall(__func__, {context, device}, {handles, address})) return error;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  return openHandles(device, count, handles, address);
}

ZE_API ze_result_t zeMemCloseIpcHandle(ze_context_handle_t context, const void *address) {
  if (auto error = checkCall(__func__, {context}, {address})) return error;
  return memory().release(address, true);
}

}  // namespace simulator
