// The longest time that a kernel may run: ISHMEM_TIMEOUT; and kernels that stand at a barrier for ever.
#pragma once

#include <array>
#include <cstddef>

namespace simulator {

struct KernelCode;

// Exists while a kernel runs. If that takes too long, or a barrier is not reached by all of a group, the device is lost
// and all waits end: see `hung`.
class TimeLimit {
 public:
  TimeLimit(const KernelCode &code, const std::array<size_t, 3> &global, const std::array<size_t, 3> &local);
  ~TimeLimit();
  TimeLimit(const TimeLimit &) = delete;

 private:
  int place_ = -1;
};

}  // namespace simulator
