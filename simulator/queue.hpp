// Command queues: each starts its work in order, on threads of its own. Where a device has one compute engine, the queues
// of its compute group are one.
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
  std::shared_ptr<Completion> started = nullptr;  // or null: set once the waits have ended
};

class Queue {
 public:
  Queue(ze_device_handle_t device, const ze_command_queue_desc_t &desc);
  ~Queue();

  void submit(Submission submission, bool isBatch = false);

  // Whether copies overlap kernels: they are kernels of the driver's own where an engine has one stream of commands.
  bool copiesOverlap() const { return shared_; }

  // Waits until all submitted work has completed, `timeout` nanoseconds have passed or a kernel has been given up.
  // Returns whether it completed.
  bool synchronize(uint64_t timeout);

 private:
  struct Worker;
  std::shared_ptr<Worker> worker_;  // shared with its threads, which are detached
  const bool synchronous_, ordered_, computes_;
  const bool shared_;       // with the other queues of an engine
  uint64_t last_ = 0;       // number of the last submission to this queue
};

}  // namespace simulator
