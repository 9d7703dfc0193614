// Command queues: each runs its work in order on its own thread.
#pragma once

#include <functional>
#include <memory>

#include "event.hpp"

namespace simulator {

class Queue {
 public:
  explicit Queue(bool synchronous);
  ~Queue();

  void submit(std::function<void()> work);

  // Waits until all submitted work has completed, `timeout` nanoseconds have passed or a kernel has been given up.
  // Returns whether it completed.
  bool synchronize(uint64_t timeout);

 private:
  struct Worker;
  std::shared_ptr<Worker> worker_;  // shared with its thread, which is detached
  bool synchronous_;
};

}  // namespace simulator
