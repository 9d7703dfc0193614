// At exit, the process abandons work that does not end within a second, as a GPU's kernel driver removes the work of a
// process that has ended. Otherwise the destructors of SYCL and OpenCL would wait for that work for ever.
#include "work.hpp"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <set>
#include <unistd.h>
#include <vector>

#include "driver.hpp"

namespace simulator {

static const int timedOut = 124;  // as ishmem run after ISHMEM_TIMEOUT

struct Delayed {
  uint64_t after;  // the last submission that has to complete before
  std::function<void()> action;
};

struct Unfinished {
  std::mutex mutex;
  std::set<uint64_t> numbers;
  uint64_t last = 0;
  std::deque<Delayed> delayed;

  bool empty() {
    std::lock_guard<std::mutex> lock(mutex);
    return numbers.empty();
  }
};

static Unfinished &unfinished() {
  static Unfinished *only = new Unfinished;  // never destroyed: worker threads may outlive main
  return *only;
}

// An on_exit handler: runs before the destructors of libraries that were loaded at program start.
static void giveUpWork(int exitStatus, void *) {
  const uint64_t end = nanoseconds() + 1000000000;
  while (!unfinished().empty() && !hung && nanoseconds() < end) usleep(1000);
  if (unfinished().empty()) return;
  fflush(nullptr);
  _exit(hung && exitStatus == 0 ? timedOut : exitStatus);
}

uint64_t workBegins() {
  static const int registered = on_exit(giveUpWork, nullptr);
  (void)registered;
  Unfinished &u = unfinished();
  std::lock_guard<std::mutex> lock(u.mutex);
  u.numbers.insert(++u.last);
  return u.last;
}

void workEnds(uint64_t number) {
  Unfinished &u = unfinished();
  std::vector<std::function<void()>> ready;
  {
    std::lock_guard<std::mutex> lock(u.mutex);
    u.numbers.erase(number);
    while (!u.delayed.empty() && (u.numbers.empty() || u.delayed.front().after < *u.numbers.begin())) {
      ready.push_back(std::move(u.delayed.front().action));
      u.delayed.pop_front();
    }
  }
  for (auto &action : ready) action();
}

void afterWork(std::function<void()> action) {
  Unfinished &u = unfinished();
  {
    std::lock_guard<std::mutex> lock(u.mutex);
    if (!u.numbers.empty()) return u.delayed.push_back({u.last, std::move(action)});
  }
  action();
}

}  // namespace simulator
