// Command queues and fences: work that runs in order on a thread of its own.
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

  // Waits until all submitted work has ended or so many nanoseconds have passed.
  bool synchronize(uint64_t timeout);

 private:
  struct Worker;
  std::shared_ptr<Worker> worker_;  // shared with its thread, which nobody joins
  bool synchronous_;
};

}  // namespace simulator
