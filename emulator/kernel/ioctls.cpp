#include "ioctls.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/ioctl.h>

#include "../report.hpp"

namespace ishmem_emulator {

namespace {

struct Call {
  unsigned long request;
  const char *name;
  int (*execute)(DeviceFile &, void *);
};

template <typename Arguments, int (*execute)(DeviceFile &, Arguments &)>
int call(DeviceFile &file, void *arguments) {
  return execute(file, *(Arguments *)arguments);
}

const Call calls[] = {
    {DRM_IOCTL_VERSION, "VERSION", call<drm_version, version>},
    {DRM_IOCTL_GEM_CLOSE, "GEM_CLOSE", call<drm_gem_close, gemClose>},
    {DRM_IOCTL_PRIME_HANDLE_TO_FD, "PRIME_HANDLE_TO_FD", call<drm_prime_handle, primeHandleToFd>},
    {DRM_IOCTL_PRIME_FD_TO_HANDLE, "PRIME_FD_TO_HANDLE", call<drm_prime_handle, primeFdToHandle>},
    {DRM_IOCTL_XE_DEVICE_QUERY, "XE_DEVICE_QUERY", call<drm_xe_device_query, deviceQuery>},
    {DRM_IOCTL_XE_GEM_CREATE, "XE_GEM_CREATE", call<drm_xe_gem_create, gemCreate>},
    {DRM_IOCTL_XE_GEM_MMAP_OFFSET, "XE_GEM_MMAP_OFFSET", call<drm_xe_gem_mmap_offset, gemMmapOffset>},
    {DRM_IOCTL_XE_VM_CREATE, "XE_VM_CREATE", call<drm_xe_vm_create, vmCreate>},
    {DRM_IOCTL_XE_VM_DESTROY, "XE_VM_DESTROY", call<drm_xe_vm_destroy, vmDestroy>},
    {DRM_IOCTL_XE_VM_BIND, "XE_VM_BIND", call<drm_xe_vm_bind, vmBind>},
    {DRM_IOCTL_XE_EXEC_QUEUE_CREATE, "XE_EXEC_QUEUE_CREATE", call<drm_xe_exec_queue_create, execQueueCreate>},
    {DRM_IOCTL_XE_EXEC_QUEUE_DESTROY, "XE_EXEC_QUEUE_DESTROY", call<drm_xe_exec_queue_destroy, execQueueDestroy>},
    {DRM_IOCTL_XE_EXEC_QUEUE_GET_PROPERTY, "XE_EXEC_QUEUE_GET_PROPERTY",
     call<drm_xe_exec_queue_get_property, execQueueGetProperty>},
    {DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY, "XE_EXEC_QUEUE_SET_PROPERTY",
     call<drm_xe_exec_queue_set_property, execQueueSetProperty>},
    {DRM_IOCTL_XE_EXEC, "XE_EXEC", call<drm_xe_exec, exec>},
    {DRM_IOCTL_XE_WAIT_USER_FENCE, "XE_WAIT_USER_FENCE", call<drm_xe_wait_user_fence, waitUserFence>},
    {DRM_IOCTL_XE_MADVISE, "XE_MADVISE", call<drm_xe_madvise, madvise>},
};

// As the kernel: by number; the arguments of older and newer headers are shorter and longer.
const Call *callOf(unsigned long request) {
  for (const Call &call : calls)
    if (_IOC_NR(call.request) == _IOC_NR(request)) return &call;
  return nullptr;
}

}  // namespace

int unknown(const char *what, uint64_t value) {
  say("%s 0x%llx is unknown", what, (unsigned long long)value);
  return EINVAL;
}

int deviceCall(DeviceFile &file, unsigned long request, void *argument) {
  const Call *call = callOf(request);
  int error;
  if (!call) {
    error = unknown("ioctl", request);
  } else {
    alignas(8) char arguments[256] = {};
    const size_t size = std::min<size_t>(_IOC_SIZE(request), sizeof arguments);
    memcpy(arguments, argument, size);
    error = call->execute(file, arguments);
    if (_IOC_DIR(request) & _IOC_READ) memcpy(argument, arguments, size);
    if (error) trace(Level::Calls, "card %d: ioctl %s: %s", file.card(), call->name, strerror(error));
  }
  if (!error) return 0;
  errno = error;
  return -1;
}

int version(DeviceFile &, drm_version &arguments) {
  static const char name[] = "xe";
  const size_t length = sizeof name - 1;
  arguments.version_major = 1;
  arguments.version_minor = 1;
  arguments.version_patchlevel = 0;
  if (arguments.name) memcpy(arguments.name, name, std::min<size_t>(arguments.name_len, length));
  arguments.name_len = length;
  arguments.date_len = arguments.desc_len = 0;
  return 0;
}

}  // namespace ishmem_emulator
