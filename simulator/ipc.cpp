// IPC handles. The first int of a handle is a file descriptor in every format of Intel's driver:
// a receiver writes the number of the descriptor it was sent over it.
#include <cstring>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "memory.hpp"

namespace simulator {

#pragma pack(push, 1)
struct HandleData {
  uint64_t fd;
  uint64_t poolOffset;  // always 0 here: a handle stands for the whole allocation
  uint8_t type;         // 1: host memory
};

struct OpaqueHandleData {
  uint64_t fd;
  uint64_t poolOffset;
  uint32_t pid;  // of the exporter
  uint8_t kind;  // 0: descriptor
  uint8_t type;
  uint64_t exportedFd;  // equal to fd until a receiver patches that
};
#pragma pack(pop)

static ze_ipc_mem_handle_t makeHandle(const Allocation &a) {
  ze_ipc_mem_handle_t handle = {};
  auto fd = (uint64_t)a.exported;
  uint8_t type = a.type == ZE_MEMORY_TYPE_HOST;
  HandleData plain = {fd, 0, type};
  OpaqueHandleData opaque = {fd, 0, (uint32_t)getpid(), 0, type, fd};
  if (settings().ipc == IpcMode::fd)
    memcpy(&handle, &plain, sizeof plain);
  else
    memcpy(&handle, &opaque, sizeof opaque);
  return handle;
}

static int fetchFromExporter(const OpaqueHandleData &data) {
  int process = (int)syscall(SYS_pidfd_open, data.pid, 0);
  if (process < 0) return -1;
  int fd = (int)syscall(SYS_pidfd_getfd, process, (int)data.exportedFd, 0);
  close(process);
  return fd;
}

// A new descriptor for the memory of a handle, or -1.
static int openDescriptor(const ze_ipc_mem_handle_t &handle, uint8_t *type) {
  HandleData plain;
  OpaqueHandleData opaque;
  memcpy(&plain, &handle, sizeof plain);
  memcpy(&opaque, &handle, sizeof opaque);
  *type = settings().ipc == IpcMode::fd ? plain.type : opaque.type;
  bool patched = (int)opaque.fd != (int)opaque.exportedFd;
  if (settings().ipc == IpcMode::opaqueStrict && patched) return -1;
  if (settings().ipc == IpcMode::fd || patched) return fcntl((int)plain.fd, F_DUPFD_CLOEXEC, 0);
  return fetchFromExporter(opaque);
}

ZE_API ze_result_t zeMemGetIpcHandle(ze_context_handle_t context, const void *address,
                                     ze_ipc_mem_handle_t *handle) {
  trace(__func__);
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(address, handle)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  std::lock_guard<std::mutex> lock(memory().mutex);
  Allocation *a = memory().find(address);
  if (!a || a->fd < 0) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (a->exported < 0) a->exported = fcntl(a->fd, F_DUPFD_CLOEXEC, 0);
  if (a->exported < 0) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  ++a->exports;
  *handle = makeHandle(*a);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle) {
  trace(__func__);
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  int fd;
  memcpy(&fd, &handle, sizeof fd);
  std::lock_guard<std::mutex> lock(memory().mutex);
  Allocation *a = memory().findExported(fd);
  if (!a) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (--a->exports > 0) return ZE_RESULT_SUCCESS;
  close(a->exported);
  a->exported = -1;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeMemOpenIpcHandle(ze_context_handle_t context, ze_device_handle_t device,
                                      ze_ipc_mem_handle_t handle, uint32_t, void **address) {
  trace(__func__);
  if (anyNull(context, device)) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!address) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  uint8_t type;
  size_t size;
  int fd = openDescriptor(handle, &type);
  ze_result_t result = ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (fd >= 0 && isMemfd(fd, &size)) {
    ze_memory_type_t kind = type == 1 ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE;
    result = memory().map({nullptr, size, 0, fd, kind, device, 0, true}, pageSize, address);
  }
  if (result != ZE_RESULT_SUCCESS && fd >= 0) close(fd);
  return result;
}

ZE_API ze_result_t zeMemCloseIpcHandle(ze_context_handle_t context, const void *address) {
  trace(__func__);
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!address) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  return memory().release(address, true);
}

}  // namespace simulator
