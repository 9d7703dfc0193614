// The caches of a device: those of its cores, and the operations of kernels on all of them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core.hpp"

namespace ishmem_emulator::caches {

class Machine {
 public:
  Machine(int cores, uint64_t seed);

  void seed(uint64_t seed);
  Core& core(int number) { return *cores_[static_cast<size_t>(number)]; }
  uint64_t next_number() { return ++numbers_; }  // of a kernel or a group

  // A kernel begins: no cache holds a line, but for some that it may load early.
  void begin(const std::vector<const char*>& places);
  // Time passes, in which stores arrive.
  void pass();
  // A kernel has ended: its stores arrive. Those that something has overtaken take their time, which the others see.
  void finish(uint64_t kernel);
  // PIPE_CONTROL's flushes and invalidations.
  void flush();

 private:
  template <class Act>
  void each(const Act&);  // of the cores, locked

  std::vector<std::unique_ptr<Core>> cores_;
  std::atomic<uint64_t> seed_, numbers_{0}, next_pass_{0};
};

}  // namespace ishmem_emulator::caches
