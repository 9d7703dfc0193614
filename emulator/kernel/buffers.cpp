// ioctls and mmap of buffer objects.
#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../report.hpp"
#include "ioctls.hpp"
#include "regions.hpp"

namespace ishmem_emulator {

// mmap's offset on a device file says which buffer, and from where on.
static const unsigned handleShift = 40;

bool isBufferOffset(uint64_t offset) { return offset >> handleShift != 0; }

int gemCreate(DeviceFile &file, drm_xe_gem_create &arguments) {
  if (arguments.extensions) return unknown("extension of XE_GEM_CREATE", arguments.extensions);
  const uint32_t regions = regionsOf(file.row()), placement = arguments.placement;
  const bool inVram = placement & ~1u;
  if (!placement || placement & ~regions) return EINVAL;
  if (!arguments.size || arguments.size % (inVram ? vramPage : hostPage)) return EINVAL;
  if (inVram && arguments.size > file.row().memory) return ENOSPC;
  auto buffer = Buffer::create(arguments.size, inVram ? file.card() : hostMemory);
  if (!buffer) return ENOMEM;
  std::lock_guard<DeviceFile> lock(file);
  arguments.handle = file.buffers.add(buffer);
  trace(Level::Calls, "card %d: buffer %u of 0x%llx bytes, placement 0x%x", file.card(), arguments.handle,
        (unsigned long long)arguments.size, placement);
  return 0;
}

int gemClose(DeviceFile &file, drm_gem_close &arguments) {
  std::shared_ptr<Buffer> last;  // unmapped without the lock
  std::lock_guard<DeviceFile> lock(file);
  last = file.buffers.take(arguments.handle);
  return last ? 0 : EINVAL;
}

int gemMmapOffset(DeviceFile &file, drm_xe_gem_mmap_offset &arguments) {
  if (arguments.flags) return EINVAL;  // among them a page for barriers over PCI, which is optional
  std::lock_guard<DeviceFile> lock(file);
  if (!file.buffers.get(arguments.handle)) return ENOENT;
  arguments.offset = (uint64_t)arguments.handle << handleShift;
  return 0;
}

void *mapBuffer(DeviceFile &file, void *address, size_t size, int protection, int flags, uint64_t offset) {
  std::lock_guard<DeviceFile> lock(file);
  auto buffer = file.buffers.get((uint32_t)(offset >> handleShift));
  const uint64_t from = offset & ((1ull << handleShift) - 1);
  if (!buffer || from > buffer->size() || size > buffer->size() - from) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  return (void *)syscall(SYS_mmap, address, size, protection, flags, buffer->descriptor(), from);
}

int primeHandleToFd(DeviceFile &file, drm_prime_handle &arguments) {
  std::lock_guard<DeviceFile> lock(file);
  auto buffer = file.buffers.get(arguments.handle);
  if (!buffer) return ENOENT;
  const int how = arguments.flags & DRM_CLOEXEC ? F_DUPFD_CLOEXEC : F_DUPFD;
  arguments.fd = (int)syscall(SYS_fcntl, buffer->descriptor(), how, 3);
  return arguments.fd < 0 ? errno : 0;
}

// A buffer that the file has already keeps its handle.
int primeFdToHandle(DeviceFile &file, drm_prime_handle &arguments) {
  auto imported = Buffer::import(arguments.fd);
  if (!imported) return fcntl(arguments.fd, F_GETFD) < 0 ? EBADF : EINVAL;
  std::lock_guard<DeviceFile> lock(file);
  for (const auto &[handle, buffer] : file.buffers)
    if (buffer->inode() == imported->inode()) {
      arguments.handle = handle;
      return 0;
    }
  arguments.handle = file.buffers.add(imported);
  trace(Level::Calls, "card %d: buffer %u of 0x%llx bytes is imported from card %d", file.card(), arguments.handle,
        (unsigned long long)imported->size(), imported->card());
  return 0;
}

}  // namespace ishmem_emulator
