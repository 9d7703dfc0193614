// The longest time that a kernel may run: ISHMEM_TIMEOUT.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace simulator {

// Exists while a kernel runs. If that takes too long, the device is lost and all waits end: see `hung`.
class TimeLimit {
 public:
  TimeLimit(const std::string &kernel, const std::array<size_t, 3> &global, const std::array<size_t, 3> &local);
  ~TimeLimit();
  TimeLimit(const TimeLimit &) = delete;

 private:
  int place_ = -1;
};

}  // namespace simulator
