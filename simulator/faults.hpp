// Fault injection by ISHMEM_SIM_FAIL and ISHMEM_SIM_SLOW.
#pragma once

#include <unistd.h>

#include "settings.hpp"

namespace simulator {

// Counts a call of this kind and returns whether it fails. All calls fail from the configured number on; the first
// failure is reported on stderr.
inline bool fails(Fault fault) {
  static std::atomic<uint64_t> counts[faultCount];
  const uint64_t at = settings().failAt[(int)fault];
  if (at == 0) return false;
  const uint64_t count = ++counts[(int)fault];
  if (count == at) complain("%s %llu fails, as ISHMEM_SIM_FAIL asks", faultNames[(int)fault], (unsigned long long)at);
  return count >= at;
}

// Sleeps for the extra time that ISHMEM_SIM_SLOW adds to each copy and launch.
inline void slowDown() {
  if (settings().slow > 0) usleep(settings().slow);
}

}  // namespace simulator
