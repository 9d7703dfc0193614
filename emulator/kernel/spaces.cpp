// ioctls of address spaces.
#include <cerrno>

#include "../report.hpp"
#include "ioctls.hpp"
#include "regions.hpp"

namespace ishmem_emulator {

int vmCreate(DeviceFile &file, drm_xe_vm_create &arguments) {
  // Page faults are not served: a GPU that asks the host for pages is not among the cards.
  const uint32_t known = DRM_XE_VM_CREATE_FLAG_SCRATCH_PAGE | DRM_XE_VM_CREATE_FLAG_LR_MODE;
  if (arguments.extensions) return unknown("extension of XE_VM_CREATE", arguments.extensions);
  if (arguments.flags & DRM_XE_VM_CREATE_FLAG_FAULT_MODE) return EINVAL;
  if (arguments.flags & ~known) return unknown("flags of XE_VM_CREATE", arguments.flags);
  std::lock_guard<DeviceFile> lock(file);
  arguments.vm_id = file.spaces.add(std::make_shared<AddressSpace>(file.row().addressBits));
  return 0;
}

int vmDestroy(DeviceFile &file, drm_xe_vm_destroy &arguments) {
  std::shared_ptr<AddressSpace> last;
  std::lock_guard<DeviceFile> lock(file);
  last = file.spaces.take(arguments.vm_id);
  return last ? 0 : ENOENT;
}

namespace {

// Another card's memory is reached over PCIe or Xe Link.
bool reachedByAtomics(const DeviceFile &file, const Buffer &buffer) {
  return buffer.card() == hostMemory || buffer.card() == file.card() || file.row().peerAtomics;
}

int mapBuffer(DeviceFile &file, AddressSpace &space, const drm_xe_vm_bind_op &operation) {
  auto buffer = file.buffers.get(operation.obj);
  if (!buffer) return ENOENT;
  if (operation.obj_offset > buffer->size() || operation.range > buffer->size() - operation.obj_offset) return EINVAL;
  char *host = buffer->host();
  if (!host) return ENOMEM;
  const bool writable = !(operation.flags & DRM_XE_VM_BIND_FLAG_READONLY);
  space.map(operation.addr,
            {operation.range, host + operation.obj_offset, writable, reachedByAtomics(file, *buffer), buffer});
  return 0;
}

int unmapBuffer(DeviceFile &file, AddressSpace &space, const drm_xe_vm_bind_op &operation) {
  auto buffer = file.buffers.get(operation.obj);
  if (!buffer) return ENOENT;
  space.unmapAll(*buffer);
  return 0;
}

int bind(DeviceFile &file, AddressSpace &space, const drm_xe_vm_bind_op &operation) {
  const uint32_t known = DRM_XE_VM_BIND_FLAG_READONLY | DRM_XE_VM_BIND_FLAG_IMMEDIATE | DRM_XE_VM_BIND_FLAG_DUMPABLE |
                         DRM_XE_VM_BIND_FLAG_MADVISE_AUTORESET | DRM_XE_VM_BIND_FLAG_DECOMPRESS;  // no memory is compressed
  trace(Level::Calls, "card %d: bind operation %u at 0x%llx, 0x%llx bytes, buffer %u + 0x%llx, flags 0x%x", file.card(),
        operation.op, (unsigned long long)operation.addr, (unsigned long long)operation.range, operation.obj,
        (unsigned long long)operation.obj_offset, operation.flags);
  if (operation.flags & ~known) return unknown("flags of XE_VM_BIND", operation.flags);
  if (operation.op == DRM_XE_VM_BIND_OP_UNMAP_ALL) return unmapBuffer(file, space, operation);
  if (!operation.range || operation.range % hostPage || operation.addr % hostPage || operation.obj_offset % hostPage ||
      !space.holds(operation.addr, operation.range))
    return EINVAL;
  switch (operation.op) {
    case DRM_XE_VM_BIND_OP_MAP: return mapBuffer(file, space, operation);
    case DRM_XE_VM_BIND_OP_MAP_USERPTR:
      space.map(operation.addr, {operation.range, (char *)operation.userptr, true, true, nullptr});
      return 0;
    case DRM_XE_VM_BIND_OP_UNMAP: space.unmap(operation.addr, operation.range); return 0;
    case DRM_XE_VM_BIND_OP_PREFETCH: return 0;
  }
  return unknown("operation of XE_VM_BIND", operation.op);
}

}  // namespace

// Bindings are made at once. So the syncs that are waited for are not needed, and those to signal are signalled.
int vmBind(DeviceFile &file, drm_xe_vm_bind &arguments) {
  if (arguments.extensions) return unknown("extension of XE_VM_BIND", arguments.extensions);
  const auto *operations =
      arguments.num_binds == 1 ? &arguments.bind : (const drm_xe_vm_bind_op *)arguments.vector_of_binds;
  const auto *syncs = (const drm_xe_sync *)arguments.syncs;
  for (uint32_t i = 0; i < arguments.num_syncs; ++i)
    if (syncs[i].type != DRM_XE_SYNC_TYPE_USER_FENCE) return unknown("sync of type", syncs[i].type);
  std::lock_guard<DeviceFile> lock(file);
  auto space = file.spaces.get(arguments.vm_id);
  if (!space) return ENOENT;
  for (uint32_t i = 0; i < arguments.num_binds; ++i)
    if (int error = bind(file, *space, operations[i])) return error;
  for (uint32_t i = 0; i < arguments.num_syncs; ++i)
    if (syncs[i].flags & DRM_XE_SYNC_FLAG_SIGNAL)
      __atomic_store_n((uint64_t *)syncs[i].addr, syncs[i].timeline_value, __ATOMIC_SEQ_CST);
  return 0;
}

int madvise(DeviceFile &file, drm_xe_madvise &arguments) {
  std::lock_guard<DeviceFile> lock(file);
  return file.spaces.get(arguments.vm_id) ? 0 : ENOENT;
}

}  // namespace ishmem_emulator
