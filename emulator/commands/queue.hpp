// Execution queues: submissions in order, each followed by the queue's command streamer on a thread of its own.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "context.hpp"

namespace ishmem_emulator {

class Streamer;

struct Submission {
  struct Fence {
    uint64_t address, value;  // written in the queue's address space when the batch has ended
  };
  std::vector<uint64_t> batches;
  std::vector<Fence> fences;
};

class Queue {
 public:
  Queue(Engine engine, std::shared_ptr<AddressSpace> space);
  ~Queue();

  void submit(Submission submission);
  bool banned() const { return context_->banned(); }

  // In the child of a fork: the parent executes what was submitted; the child's thread starts with its next submission.
  void forgetThreads();

 private:
  void work();
  void follow(const Submission &submission);

  const std::shared_ptr<Context> context_;
  std::unique_ptr<Streamer> streamer_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<Submission> pending_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace ishmem_emulator
