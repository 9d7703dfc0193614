// Yields the core to other processes while a kernel runs.
#pragma once

#include <ctime>

namespace simulator {

// A kernel that waits for another process spins and keeps its core for a whole scheduler tick. With more PEs than
// cores, the process that it waits for may not get a core meanwhile. A timer therefore interrupts the thread that runs
// a kernel, and the signal handler yields: often while other threads want the core and the kernel waits, less often
// while it computes, and less and less often while no other thread wants the core. If the kernel has several
// work-groups, TBB's threads may run them, so the first interruption starts their timers, too.
class Yielding {
 public:
  explicit Yielding(bool severalGroups);
  ~Yielding();
  Yielding(const Yielding &) = delete;

 private:
  const bool shared_;
};

// Gives each thread that the TBB library creates from now on a timer.
void watchThreadsOfTbb();

}  // namespace simulator
