// The kernel's interface to a card: ioctls, as <drm/xe_drm.h> describes them, and mmap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>

#include "../third_party/drm/xe_drm.h"
#include "device_file.hpp"

namespace ishmem_emulator {

// As ioctl and mmap, on a device file.
int deviceCall(DeviceFile &file, unsigned long request, void *argument);
void *mapBuffer(DeviceFile &file, void *address, size_t size, int protection, int flags, uint64_t offset);
bool isBufferOffset(uint64_t offset);

// Each executes the ioctl of its name. Returns 0 or an error of <errno.h>.
int version(DeviceFile &, drm_version &);
int gemClose(DeviceFile &, drm_gem_close &);
int primeHandleToFd(DeviceFile &, drm_prime_handle &);
int primeFdToHandle(DeviceFile &, drm_prime_handle &);
int deviceQuery(DeviceFile &, drm_xe_device_query &);
int gemCreate(DeviceFile &, drm_xe_gem_create &);
int gemMmapOffset(DeviceFile &, drm_xe_gem_mmap_offset &);
int vmCreate(DeviceFile &, drm_xe_vm_create &);
int vmDestroy(DeviceFile &, drm_xe_vm_destroy &);
int vmBind(DeviceFile &, drm_xe_vm_bind &);
int execQueueCreate(DeviceFile &, drm_xe_exec_queue_create &);
int execQueueDestroy(DeviceFile &, drm_xe_exec_queue_destroy &);
int execQueueGetProperty(DeviceFile &, drm_xe_exec_queue_get_property &);
int execQueueSetProperty(DeviceFile &, drm_xe_exec_queue_set_property &);
int exec(DeviceFile &, drm_xe_exec &);
int waitUserFence(DeviceFile &, drm_xe_wait_user_fence &);
int madvise(DeviceFile &, drm_xe_madvise &);

// A value of an ioctl that the machine does not know: says so, with what it is. Returns the error.
int unknown(const char *what, uint64_t value);

}  // namespace ishmem_emulator
