// DEVICE_QUERY: what the kernel tells about a card.
#include <cerrno>
#include <cstring>
#include <ctime>
#include <string>
#include <unistd.h>

#include "ioctls.hpp"
#include "regions.hpp"

namespace ishmem_emulator {

namespace {

// An answer that grows by parts.
class Answer {
 public:
  template <typename Part>
  Answer &operator<<(const Part &part) {
    bytes_.append((const char *)&part, sizeof part);
    return *this;
  }
  const std::string &bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

struct Header {
  uint32_t count, pad;
};

Answer engines(const Card &card) {
  Answer list;
  uint32_t count = 0;
  auto add = [&](int tile, uint16_t engineClass, int number) {
    for (int instance = 0; instance < number; ++instance, ++count) {
      drm_xe_engine engine = {};
      engine.instance = {engineClass, (uint16_t)instance, (uint16_t)tile, 0};
      list << engine;
    }
  };
  for (int tile = 0; tile < card.tiles; ++tile) {
    add(tile, DRM_XE_ENGINE_CLASS_RENDER, card.renderEngine);
    add(tile, DRM_XE_ENGINE_CLASS_COMPUTE, card.computeEngines);
    add(tile, DRM_XE_ENGINE_CLASS_COPY, card.copyEngines);
  }
  Answer answer;
  answer << Header{count, 0};
  for (size_t at = 0; at < list.bytes().size(); at += sizeof(drm_xe_engine))
    answer << *(const drm_xe_engine *)(list.bytes().data() + at);
  return answer;
}

Answer memoryRegions(const Card &card) {
  drm_xe_mem_region host = {};
  host.mem_class = DRM_XE_MEM_REGION_CLASS_SYSMEM;
  host.instance = hostRegion;
  host.min_page_size = hostPage;
  host.total_size = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
  Answer answer;
  answer << Header{card.integrated() ? 1u : 1u + (uint32_t)card.tiles, 0} << host;
  for (int tile = 0; !card.integrated() && tile < card.tiles; ++tile) {
    drm_xe_mem_region vram = {};
    vram.mem_class = DRM_XE_MEM_REGION_CLASS_VRAM;
    vram.instance = (uint16_t)regionOf(tile);
    vram.min_page_size = vramPage;
    vram.total_size = vram.cpu_visible_size = card.memory;
    answer << vram;
  }
  return answer;
}

Answer config(const Card &card) {
  const uint64_t flags =
      DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY | (card.integrated() ? 0 : DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM);
  uint64_t values[5];
  values[DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID] = card.pciId | (uint64_t)card.revision << 16;
  values[DRM_XE_QUERY_CONFIG_FLAGS] = flags;
  values[DRM_XE_QUERY_CONFIG_MIN_ALIGNMENT] = card.integrated() ? hostPage : vramPage;
  values[DRM_XE_QUERY_CONFIG_VA_BITS] = (uint64_t)card.addressBits;
  values[DRM_XE_QUERY_CONFIG_MAX_EXEC_QUEUE_PRIORITY] = 2;
  Answer answer;
  answer << Header{sizeof values / sizeof *values, 0} << values;
  return answer;
}

Answer gtList(const Card &card) {
  Answer answer;
  answer << Header{(uint32_t)card.tiles, 0};
  for (int tile = 0; tile < card.tiles; ++tile) {
    drm_xe_gt gt = {};
    gt.type = DRM_XE_QUERY_GT_TYPE_MAIN;
    gt.tile_id = gt.gt_id = (uint16_t)tile;
    gt.reference_clock = referenceClock;
    gt.near_mem_regions = nearRegions(card, tile);
    gt.far_mem_regions = regionsOf(card) & ~nearRegions(card, tile);
    gt.ip_ver_major = card.major;
    gt.ip_ver_minor = card.minor;
    gt.ip_ver_rev = card.graphicsRevision;
    answer << gt;
  }
  return answer;
}

// The table that the card's firmware has: key, number of words, words. Keys are those of the kernel's documents.
Answer hardwareConfig(const Card &card) {
  enum Key : uint32_t {
    MaxSlices = 1, MaxDualSubslices = 2, MaxEusPerDualSubslice = 3, MaxMemoryChannels = 10, MemoryType = 11,
    ThreadsPerEu = 15, MaxRender = 23, MaxCompute = 24, ContextStateMegabytes = 62, L3BankKilobytes = 64,
    SlmPerDualSubslice = 65, MaxSubslices = 70, MaxEusPerSubslice = 71, SlmPerSubsliceKilobytes = 73,
    HbmStacksPerTile = 74, ChannelsPerHbmStack = 75
  };
  const int slices = card.isXe2() ? (card.xeCores + 3) / 4 : 1;
  const bool hbm = card.memoryType == 3;
  const std::pair<Key, int> values[] = {
      {MaxSlices, slices}, {MaxDualSubslices, card.xeCores}, {MaxSubslices, card.xeCores},
      {MaxEusPerDualSubslice, card.eusPerCore}, {MaxEusPerSubslice, card.eusPerCore},
      {MaxMemoryChannels, card.memoryChannels}, {MemoryType, card.memoryType}, {ThreadsPerEu, card.threadsPerEu},
      {MaxRender, card.renderEngine}, {MaxCompute, card.computeEngines}, {ContextStateMegabytes, 1},
      {L3BankKilobytes, card.l3BankSize}, {SlmPerDualSubslice, card.slmPerCore},
      {SlmPerSubsliceKilobytes, card.slmPerCore}, {HbmStacksPerTile, hbm ? 4 : 0}, {ChannelsPerHbmStack, hbm ? 8 : 0}};
  Answer answer;
  for (const auto &[key, value] : values) answer << (uint32_t)key << 1u << (uint32_t)value;
  return answer;
}

Answer topology(const Card &card) {
  Answer answer;
  auto add = [&](int tile, uint16_t type, int ones, uint32_t bytes) {
    answer << drm_xe_query_topology_mask{(uint16_t)tile, type, bytes};
    for (uint32_t byte = 0; byte < bytes; ++byte) {
      const int left = ones - 8 * (int)byte;
      answer << (uint8_t)(left >= 8 ? 0xff : left > 0 ? (1 << left) - 1 : 0);
    }
  };
  for (int tile = 0; tile < card.tiles; ++tile) {
    add(tile, DRM_XE_TOPO_DSS_GEOMETRY, card.renderEngine ? card.xeCores : 0, 8);
    add(tile, DRM_XE_TOPO_DSS_COMPUTE, card.xeCores, 8);
    add(tile, DRM_XE_TOPO_L3_BANK, card.l3Banks, 8);
    add(tile, card.isXe2() ? DRM_XE_TOPO_SIMD16_EU_PER_DSS : DRM_XE_TOPO_EU_PER_DSS, card.eusPerCore, 4);
  }
  return answer;
}

int reply(drm_xe_device_query &query, const std::string &bytes) {
  if (query.size == 0) {
    query.size = (uint32_t)bytes.size();
    return 0;
  }
  if (query.size != bytes.size()) return EINVAL;
  memcpy((void *)query.data, bytes.data(), bytes.size());
  return 0;
}

// The one query whose argument is also an input.
int engineCycles(drm_xe_device_query &query) {
  const uint32_t width = 36;  // of the counter, in bits
  if (query.size == 0) {
    query.size = sizeof(drm_xe_query_engine_cycles);
    return 0;
  }
  if (query.size != sizeof(drm_xe_query_engine_cycles)) return EINVAL;
  auto &cycles = *(drm_xe_query_engine_cycles *)query.data;
  struct timespec before, after;
  if (clock_gettime(cycles.clockid, &before) != 0) return EINVAL;
  cycles.width = width;
  cycles.engine_cycles = timestamp() & ((1ull << width) - 1);
  clock_gettime(cycles.clockid, &after);
  auto nanoseconds = [](const struct timespec &time) {
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
  };
  cycles.cpu_timestamp = nanoseconds(before);
  cycles.cpu_delta = nanoseconds(after) - nanoseconds(before);
  return 0;
}

}  // namespace

int deviceQuery(DeviceFile &file, drm_xe_device_query &query) {
  const Card &card = file.row();
  switch (query.query) {
    case DRM_XE_DEVICE_QUERY_ENGINES: return reply(query, engines(card).bytes());
    case DRM_XE_DEVICE_QUERY_MEM_REGIONS: return reply(query, memoryRegions(card).bytes());
    case DRM_XE_DEVICE_QUERY_CONFIG: return reply(query, config(card).bytes());
    case DRM_XE_DEVICE_QUERY_GT_LIST: return reply(query, gtList(card).bytes());
    case DRM_XE_DEVICE_QUERY_HWCONFIG: return reply(query, hardwareConfig(card).bytes());
    case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY: return reply(query, topology(card).bytes());
    case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES: return engineCycles(query);
  }
  return unknown("query", query.query);
}

}  // namespace ishmem_emulator
