#include "faults.hpp"

#include <atomic>
#include <unistd.h>

namespace simulator {

bool fails(Fault fault) {
  static std::atomic<uint64_t> counts[faultCount];
  const uint64_t at = settings().failAt[(int)fault];
  if (at == 0) return false;
  const uint64_t count = ++counts[(int)fault];
  if (count == at) complain("%s %llu fails, as ISHMEM_SIM_FAIL asks", faultNames[(int)fault], (unsigned long long)at);
  return count >= at;
}

void slowDown() {
  if (settings().slow > 0) usleep(settings().slow);
}

}  // namespace simulator
