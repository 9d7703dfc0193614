// Events and fences: flags that one thread sets and other threads wait for.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <sched.h>

#include "driver.hpp"

namespace simulator {

// What an event stands for: whether a command has completed, and its times in nanoseconds.
struct Completion {
  std::atomic<bool> set{false};
  uint64_t start = 0, end = 0;
};

// Commands refer to the completion, not to the event. An ordinary event has the same one until it is destroyed. A
// counter-based event gets a new one with each command that signals it, so it needs no reset, and a command that waits
// for the earlier one is not affected. It counts as set as long as no command signals it.
struct Event {
  std::shared_ptr<Completion> completion = std::make_shared<Completion>();
  const bool counterBased;

  explicit Event(bool counterBased) : counterBased(counterBased) { completion->set = counterBased; }
};

struct EventPool {
  uint32_t count;
  bool counterBased;
};

struct Fence {
  std::shared_ptr<std::atomic<bool>> set;  // SYCL destroys a graph's fence before the submission has set it
};

static const uint64_t forever = UINT64_MAX;

// Sets a flag and wakes its waiters. The object that holds the flag may be destroyed as soon as the flag is set.
void raise(std::atomic<bool> &flag);
void signal(Completion &completion, uint64_t start, uint64_t end);

// Waits until the flag is set, `timeout` nanoseconds have passed or a kernel has been given up. Returns whether the
// flag is set.
bool await(const std::atomic<bool> &flag, uint64_t timeout);

// Polls with yields for 20 us, because sleeping and waking takes longer than a short kernel. Returns the last result.
template <class Predicate>
bool spin(Predicate done) {
  const uint64_t end = nanoseconds() + 20000;
  do {
    if (done()) return true;
    sched_yield();
  } while (nanoseconds() < end);
  return done();
}

// Sleeps until the predicate holds, the timeout expires or a kernel has been given up, which notifies nobody. The lock
// protects the data that the predicate reads.
template <class Condition, class Lock, class Predicate>
bool sleepUntil(Condition &condition, Lock &lock, uint64_t timeout, Predicate done) {
  const uint64_t slice = 100000000, start = nanoseconds();
  for (uint64_t slept = 0; slept < timeout && !done() && !hung; slept = nanoseconds() - start)
    condition.wait_for(lock, std::chrono::nanoseconds(std::min(timeout - slept, slice)));
  return done();
}

}  // namespace simulator
