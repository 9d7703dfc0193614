#include "machine.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace ishmem_emulator::caches {
namespace {

constexpr uint64_t kBetweenPasses = 20000;  // nanoseconds
constexpr uint64_t kShareOfPasses = 8;      // and so many times what a pass takes
// One kernel of so many ends when the stores that were overtaken are due, and when all are. The processes of a job take
// turns: whoever looks for a late store has to have ended its own kernel.
constexpr uint64_t kLateEnds = 2, kLastEnds = 4;

uint64_t now() {
  return static_cast<uint64_t>(std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

}  // namespace

template <class Act>
void Machine::each(const Act& act) {
  for (const std::unique_ptr<Core>& core : cores_) {
    const std::lock_guard<std::mutex> lock(core->lock());
    act(*core);
  }
}

Machine::Machine(int cores, uint64_t seed) {
  for (int number = 0; number < cores; ++number) cores_.push_back(std::make_unique<Core>());
  this->seed(seed);
}

void Machine::seed(uint64_t seed) {
  seed_ = seed;
  uint64_t number = 0;
  each([&](Core& core) { core.seed(seed, number++); });
}

void Machine::begin(const std::vector<const char*>& places) {
  const uint64_t time = now();
  each([&](Core& core) {
    core.begin(time);
    for (const char* place : places) core.prefetch(place);
  });
}

void Machine::pass() {
  const uint64_t time = now();
  if (time < next_pass_) return;
  next_pass_ = time + kBetweenPasses;
  each([&](Core& core) { core.pass(time); });
  const uint64_t end = now();
  next_pass_ = end + std::max(kBetweenPasses, kShareOfPasses * (end - time));
}

void Machine::finish(uint64_t kernel) {
  const uint64_t turn = seed_ + kernel + static_cast<uint64_t>(getpid());
  uint64_t last = 0;
  if (turn % kLateEnds == 0)
    each([&](const Core& core) { last = std::max(last, core.last_due(kernel, turn % kLastEnds == 0)); });
  while (now() < last) {
    usleep(kBetweenPasses / 1000);
    pass();
  }
  each([&](Core& core) { core.finish(kernel); });
}

void Machine::flush() {
  each([](Core& core) { core.flush(); });
}

}  // namespace ishmem_emulator::caches
