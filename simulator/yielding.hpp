// Lets other processes run while a kernel does.
#pragma once

#include <ctime>

namespace simulator {

// A kernel that waits for another process spins: it keeps its core for a whole tick of the scheduler, and with more
// PEs than cores the one waited for may be what does not run. So a timer interrupts the thread that runs a kernel, and
// the interruption yields: often while others want the core, ever more seldom while none does.
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
