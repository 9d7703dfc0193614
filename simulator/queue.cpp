#include "queue.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "command_list.hpp"
#include "exit.hpp"

namespace simulator {

// The thread is detached, because a kernel may spin for ever: neither a destructor nor the exit may wait for it.
struct Queue::Worker {
  std::mutex mutex;
  std::condition_variable submission, completion;
  std::deque<std::function<void()>> work;
  std::atomic<uint64_t> submitted{0}, completed{0};
  std::atomic<bool> closed{false};
  bool started = false, sleeping = false;
  int waiting = 0;

  bool next(std::function<void()> &item);
  void run();
};

// Takes the next work item. Returns false when the queue is closed and empty.
bool Queue::Worker::next(std::function<void()> &item) {
  auto ready = [this] { return submitted.load() != completed.load() || closed.load(); };
  if (!spin(ready)) {
    std::unique_lock<std::mutex> lock(mutex);
    sleeping = true;
    submission.wait(lock, ready);
    sleeping = false;
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (work.empty()) return false;
  item = std::move(work.front());
  work.pop_front();
  return true;
}

void Queue::Worker::run() {
  for (std::function<void()> item; next(item);) {
    item();
    item = nullptr;
    std::lock_guard<std::mutex> lock(mutex);
    ++completed;
    workEnds();
    if (waiting) completion.notify_all();
  }
}

Queue::Queue(bool synchronous) : worker_(std::make_shared<Worker>()), synchronous_(synchronous) {}

Queue::~Queue() {
  std::lock_guard<std::mutex> lock(worker_->mutex);
  worker_->closed = true;
  worker_->submission.notify_all();
}

void Queue::submit(std::function<void()> work) {
  if (settings().inlineWork) return work();
  workBegins();
  {
    Worker &w = *worker_;
    std::lock_guard<std::mutex> lock(w.mutex);
    w.work.push_back(std::move(work));
    ++w.submitted;
    if (!w.started) std::thread([worker = worker_] { worker->run(); }).detach();
    w.started = true;
    if (w.sleeping) w.submission.notify_all();
  }
  if (synchronous_) synchronize(forever);
}

bool Queue::synchronize(uint64_t timeout) {
  Worker &w = *worker_;
  auto done = [&w, target = w.submitted.load()] { return w.completed.load() >= target; };
  if (done()) return true;
  if (timeout == 0) return false;
  if (spin(done)) return true;
  std::unique_lock<std::mutex> lock(w.mutex);
  ++w.waiting;
  bool finished = sleepUntil(w.completion, lock, timeout, done);
  --w.waiting;
  return finished;
}

ZE_API ze_result_t zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
                                        const ze_command_queue_desc_t *desc, ze_command_queue_handle_t *queue) {
  trace(__func__);
  if (anyNull(context, device)) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(desc, queue)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *queue = new Queue(desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t queue) {
  trace(__func__);
  if (!queue) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  delete queue;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout) {
  trace(__func__);
  if (!queue) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return status(queue->synchronize(timeout));
}

ZE_API ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count,
                                                     ze_command_list_handle_t *lists, ze_fence_handle_t fence) {
  trace(__func__);
  if (!queue) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!lists) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  std::vector<std::shared_ptr<const std::vector<Command>>> batch;
  for (uint32_t i = 0; i < count; ++i) {
    if (!lists[i]) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (lists[i]->immediate || !lists[i]->closed) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    batch.push_back(lists[i]->commands);
  }
  queue->submit([batch = std::move(batch), fence] {
    for (auto &commands : batch)
      for (auto &command : *commands) run(command);
    if (fence) raise(fence->set);
  });
  return status(true);
}

}  // namespace simulator
