// At exit, the process abandons work that does not end within a second, as a GPU's kernel driver removes the work of a
// process that has ended. Otherwise the destructors of SYCL and OpenCL would wait for that work for ever.
#include "exit.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "driver.hpp"

namespace simulator {

static const int timedOut = 124;  // as ishmrun after ISHMEM_TIMEOUT

static std::atomic<int> unfinished{0};

// An on_exit handler: runs before the destructors of libraries that were loaded at program start.
static void giveUpWork(int exitStatus, void *) {
  const uint64_t end = nanoseconds() + 1000000000;
  while (unfinished.load() > 0 && !hung && nanoseconds() < end) usleep(1000);
  if (unfinished.load() == 0) return;
  fflush(nullptr);
  _exit(hung && exitStatus == 0 ? timedOut : exitStatus);
}

void workBegins() {
  static const int registered = on_exit(giveUpWork, nullptr);
  (void)registered;
  ++unfinished;
}

void workEnds() { --unfinished; }

}  // namespace simulator
