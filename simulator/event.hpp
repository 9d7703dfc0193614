// Events and fences: flags that one thread sets and others wait for.
#pragma once

#include <atomic>
#include <chrono>
#include <sched.h>

#include "driver.hpp"

namespace simulator {

struct Event {
  std::atomic<bool> set{false};
  uint64_t start = 0, end = 0;  // of the command that signalled it, in nanoseconds
};

struct EventPool {
  uint32_t count;
};

struct Fence {
  std::atomic<bool> set;
};

static const uint64_t forever = UINT64_MAX;

// Sets a flag and wakes those who wait. Its owner may be gone as soon as the flag is set.
void raise(std::atomic<bool> &flag);
void signal(Event *event, uint64_t start, uint64_t end);

// Waits until a flag is set or so many nanoseconds have passed; returns whether it is set.
bool await(const std::atomic<bool> &flag, uint64_t timeout);

// Yields and looks again for a while: sleeping and being woken costs more than a short kernel.
template <class Predicate>
bool spin(Predicate done) {
  const uint64_t end = nanoseconds() + 20000;
  do {
    if (done()) return true;
    sched_yield();
  } while (nanoseconds() < end);
  return done();
}

// Sleeps until a predicate holds or the time is over; the lock protects what the predicate reads.
template <class Condition, class Lock, class Predicate>
bool sleepUntil(Condition &condition, Lock &lock, uint64_t timeout, Predicate done) {
  const uint64_t century = 3200000000ull * 1000000000;  // more would overflow the clock
  if (timeout < century) return condition.wait_for(lock, std::chrono::nanoseconds(timeout), done);
  condition.wait(lock, done);
  return true;
}

}  // namespace simulator
