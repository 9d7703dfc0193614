// A thread group that has hardware threads, and the walker that it belongs to.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "../caches/machine.hpp"
#include "residency.hpp"
#include "thread.hpp"

namespace ishmem_emulator::eu {

// A walker whose groups are being executed.
struct Walk {
  Walker walker;
  Space* space;
  const std::atomic<bool>* stop;
  std::function<void(Ended)> ended;
  std::shared_ptr<const Kernel> kernel;
  uint64_t groups = 0, begun = 0, resident = 0;
  Counts counts;
  std::string failure;
  caches::Machine* caches_of_device = nullptr;  // where they are emulated
  uint64_t number = 0;                          // by which they know it

  bool has_more() const { return failure.empty() && begun < groups; }
  bool is_over() const { return !resident && !has_more(); }
};

struct Resident {
  std::shared_ptr<Walk> walk;
  Room room;
  Group group;
  std::vector<std::unique_ptr<Thread>> threads;
  std::string failure;
  bool advanced = true;  // whether the last turn did more than to look at memory

  bool is_over() const { return !failure.empty() || !group.running; }
  // Let each thread execute some instructions.
  void turn(Translator&, std::mt19937_64* random);

 private:
  uint64_t run(Thread&, uint64_t most);
  std::string where(const Thread&, const char* what) const;
};

}  // namespace ishmem_emulator::eu
