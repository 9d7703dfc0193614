// Properties of a device's memory and of its access to peers' memory.
#include "driver.hpp"

#include <cstdio>
#include <cstring>

namespace simulator {

ZE_API ze_result_t zeDeviceGetMemoryProperties(ze_device_handle_t device, uint32_t *count,
                                               ze_device_memory_properties_t *list) {
  if (auto error = checkCall(__func__, {device})) return error;
  return answerList(1, count, list, [device](ze_device_memory_properties_t &p, uint32_t) {
    p.flags = 0;
    p.maxClockRate = 3200;
    p.maxBusWidth = 8192;
    p.totalSize = device->memory;
    snprintf(p.name, sizeof p.name, "HBM");
    auto *more = chained<ze_device_memory_ext_properties_t>(&p, ZE_STRUCTURE_TYPE_DEVICE_MEMORY_EXT_PROPERTIES);
    if (!more) return;
    more->type = ZE_DEVICE_MEMORY_EXT_TYPE_HBM2;
    more->physicalSize = device->memory;
    more->readBandwidth = more->writeBandwidth = 1600;
    more->bandwidthUnit = ZE_BANDWIDTH_UNIT_BYTES_PER_NANOSEC;
  });
}

ZE_API ze_result_t zeDeviceGetMemoryAccessProperties(ze_device_handle_t device,
                                                     ze_device_memory_access_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  uint32_t single = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC;
  uint32_t all = single | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT | ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
  p->hostAllocCapabilities = p->sharedSingleDeviceAllocCapabilities = p->sharedCrossDeviceAllocCapabilities = all;
  p->deviceAllocCapabilities = settings().hostAtomics ? all : single;
  p->sharedSystemAllocCapabilities = 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceGetCacheProperties(ze_device_handle_t device, uint32_t *count,
                                              ze_device_cache_properties_t *list) {
  if (auto error = checkCall(__func__, {device})) return error;
  return answerList(1, count, list, [](ze_device_cache_properties_t &p, uint32_t) {
    p.flags = 0;
    p.cacheSize = 204 << 20;
  });
}

ZE_API ze_result_t zeDeviceGetImageProperties(ze_device_handle_t device, ze_device_image_properties_t *p) {
  if (auto error = checkCall(__func__, {device}, {p})) return error;
  p->maxImageDims1D = p->maxImageDims2D = p->maxImageDims3D = 0;
  p->maxImageBufferSize = 0;
  p->maxImageArraySlices = p->maxSamplers = p->maxReadImageArgs = p->maxWriteImageArgs = 0;
  return ZE_RESULT_SUCCESS;
}

// The tiles of a card always support peer atomics. Between cards, ISHMEM_SIM_PEERS decides.
static Peers reach(uint32_t device, uint32_t peer) {
  return device / settings().card == peer / settings().card ? Peers::atomics : settings().peers;
}

bool misleads(uint32_t device, uint32_t peer) { return reach(device, peer) == Peers::wrong; }

bool canAccess(uint32_t device, uint32_t peer) { return reach(device, peer) != Peers::none; }

ZE_API ze_result_t zeDeviceGetP2PProperties(ze_device_handle_t device, ze_device_handle_t peer,
                                            ze_device_p2p_properties_t *p) {
  if (auto error = checkCall(__func__, {device, peer}, {p})) return error;
  const Peers found = reach(device->index, peer->index);
  p->flags = found == Peers::none ? 0 : ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS;
  if (found == Peers::atomics || found == Peers::wrong) p->flags |= ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeDeviceCanAccessPeer(ze_device_handle_t device, ze_device_handle_t peer, ze_bool_t *answer) {
  if (auto error = checkCall(__func__, {device, peer}, {answer})) return error;
  *answer = canAccess(device->index, peer->index);
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
