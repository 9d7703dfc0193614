#include "queue.hpp"

#include <new>
#include <pthread.h>
#include <sys/prctl.h>

#include "../report.hpp"
#include "streamer.hpp"

namespace ishmem_emulator {

Queue::Queue(Engine engine, std::shared_ptr<AddressSpace> space)
    : context_(std::make_shared<Context>(engine, std::move(space))), streamer_(new Streamer(context_)) {}

Queue::~Queue() {
  context_->stop();
  {
    std::lock_guard<std::mutex> lock(lock_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  context_->waitForAllKernels();
}

void Queue::submit(Submission submission) {
  std::lock_guard<std::mutex> lock(lock_);
  pending_.push_back(std::move(submission));
  if (!thread_.joinable()) thread_ = std::thread(&Queue::work, this);
  changed_.notify_all();
}

void Queue::work() {
  pthread_setname_np(pthread_self(), "card queue");
  prctl(PR_SET_TIMERSLACK, 1000);  // pauses of microseconds
  for (;;) {
    std::unique_lock<std::mutex> lock(lock_);
    changed_.wait(lock, [&] { return closing_ || !pending_.empty(); });
    if (closing_) return;
    Submission submission = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    follow(submission);
  }
}

// As the kernel's ring does: the fences of a submission, and the next one, wait for the kernels of this one.
void Queue::follow(const Submission &submission) {
  try {
    for (uint64_t batch : submission.batches) streamer_->run(batch);
    context_->waitForKernels();
    if (context_->stopped()) return;
    for (const Submission::Fence &fence : submission.fences) context_->store64(fence.address, fence.value);
  } catch (const CommandError &error) {
    context_->ban(error.what());
  }
}

void Queue::forgetThreads() {
  new (&lock_) std::mutex;
  new (&changed_) std::condition_variable;
  new (&thread_) std::thread;
  pending_.clear();
}

}  // namespace ishmem_emulator
