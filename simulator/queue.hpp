// Command queues: each starts its work in order, on threads of its own.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "event.hpp"

namespace simulator {

struct Submission {
  std::function<void()> work;
  std::vector<std::shared_ptr<Completion>> waits = {};
  bool overlaps = false;  // it may run at the same time as those before and after it that may, too
};

class Queue {
 public:
  // `ordered`: nothing overlaps.
  Queue(bool synchronous, bool ordered);
  ~Queue();

  void submit(Submission submission);

  // Waits until all submitted work has completed, `timeout` nanoseconds have passed or a kernel has been given up.
  // Returns whether it completed.
  bool synchronize(uint64_t timeout);

 private:
  struct Worker;
  std::shared_ptr<Worker> worker_;  // shared with its threads, which are detached
  bool synchronous_;
};

}  // namespace simulator
