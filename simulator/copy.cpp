// Copies and fills.
#include <algorithm>
#include <cstring>

#include "command_list.hpp"
#include "faults.hpp"
#include "opencl.hpp"

namespace simulator {

// The work of a copy, which fails where ISHMEM_SIM_FAIL says so.
template <class Copy>
static Work mayFail(Copy copy) {
  return [copy = std::move(copy)] {
    const bool failed = fails(Fault::copy);
    if (!failed) copy();
    return !failed;
  };
}

ZE_API ze_result_t zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *to, const void *from,
                                                 size_t size, ze_event_handle_t signal, uint32_t waitCount,
                                                 ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (size > 0 && (!to || !from)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  auto copy = [to, from, size] { if (size > 0) memmove(to, from, size); };
  return appendCopy(list, mayFail(copy), signal, waitCount, waits);
}

// Fills by copying the part that is already filled, which doubles with each copy.
static void fill(char *to, const std::vector<char> &pattern, size_t size) {
  size_t filled = std::min(pattern.size(), size);
  if (filled > 0) memcpy(to, pattern.data(), filled);
  while (filled < size) {
    size_t more = std::min(filled, size - filled);
    memcpy(to + filled, to, more);
    filled += more;
  }
}

ZE_API ze_result_t zeCommandListAppendMemoryFill(ze_command_list_handle_t list, void *to, const void *pattern,
                                                 size_t patternSize, size_t size, ze_event_handle_t signal,
                                                 uint32_t waitCount, ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (!pattern || (size > 0 && !to)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  bool powerOfTwo = patternSize > 0 && (patternSize & (patternSize - 1)) == 0;
  if (!powerOfTwo || patternSize > maxFillPattern) return ZE_RESULT_ERROR_INVALID_SIZE;
  std::vector<char> bytes((const char *)pattern, (const char *)pattern + patternSize);
  auto work = [to, bytes = std::move(bytes), size] { fill((char *)to, bytes, size); };
  return appendCopy(list, mayFail(std::move(work)), signal, waitCount, waits);
}

struct CopiedRegion {
  char *data;
  ze_copy_region_t region;
  size_t pitch, slicePitch;

  char *row(uint32_t y, uint32_t z) const {
    return data + (region.originZ + z) * slicePitch + (region.originY + y) * pitch + region.originX;
  }
};

static void copyRegion(const CopiedRegion &to, const CopiedRegion &from) {
  for (uint32_t z = 0; z < std::max(1u, from.region.depth); ++z)
    for (uint32_t y = 0; y < std::max(1u, from.region.height); ++y)
      memmove(to.row(y, z), from.row(y, z), from.region.width);
}

ZE_API ze_result_t zeCommandListAppendMemoryCopyRegion(
    ze_command_list_handle_t list, void *to, const ze_copy_region_t *toRegion, uint32_t toPitch,
    uint32_t toSlicePitch, const void *from, const ze_copy_region_t *fromRegion, uint32_t fromPitch,
    uint32_t fromSlicePitch, ze_event_handle_t signal, uint32_t waitCount, ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list}, {to, toRegion, from, fromRegion})) return error;
  CopiedRegion destination = {(char *)to, *toRegion, toPitch, toSlicePitch};
  CopiedRegion source = {(char *)from, *fromRegion, fromPitch, fromSlicePitch};
  return appendCopy(list, mayFail([destination, source] { copyRegion(destination, source); }), signal, waitCount, waits);
}

// Prefetch and advice calls only check their arguments: the simulator has no placement or residency.
ZE_API ze_result_t zeCommandListAppendMemoryPrefetch(ze_command_list_handle_t list, const void *address, size_t) {
  return checkCall(__func__, {list}, {address});
}

ZE_API ze_result_t zeCommandListAppendMemAdvise(ze_command_list_handle_t list, ze_device_handle_t device,
                                                const void *address, size_t, uint32_t) {
  return checkCall(__func__, {list, device}, {address});
}

}  // namespace simulator
