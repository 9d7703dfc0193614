// Yields the core to other processes while a kernel runs.
#pragma once

#include <ctime>

namespace simulator {

// A kernel that waits for another process spins and keeps its core for a whole scheduler tick. With more PEs than
// cores, the process that it waits for may not get a core meanwhile. A timer therefore interrupts the thread that runs
// a kernel, and the signal handler yields: often while other threads want the core, less and less often otherwise.
class Yielding {
 public:
  Yielding();
  ~Yielding();
  Yielding(const Yielding &) = delete;

 private:
  struct Timer;
  static Timer &ofThisThread();
};

}  // namespace simulator
