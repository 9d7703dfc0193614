#include "event.hpp"

#include <condition_variable>
#include <mutex>

namespace simulator {

// One condition variable serves all events and fences, because few threads sleep at the same time.
struct Waiters {
  std::mutex mutex;
  std::condition_variable changed;
  std::atomic<int> count{0};
};

static Waiters &waiters() {
  static Waiters *only = new Waiters;  // never destroyed: worker threads may outlive main
  return *only;
}

// A waiter increments the count before it checks the flag. Either it sees the flag set, or raise() sees the count.
void raise(std::atomic<bool> &flag) {
  Waiters &w = waiters();
  flag.store(true);
  if (w.count.load() == 0) return;
  std::lock_guard<std::mutex> lock(w.mutex);
  w.changed.notify_all();
}

void signal(Completion &completion, uint64_t start, uint64_t end) {
  completion.start = start;
  completion.end = end;
  raise(completion.set);
}

bool await(const std::atomic<bool> &flag, uint64_t timeout) {
  auto isSet = [&flag] { return flag.load(); };
  if (isSet()) return true;
  if (timeout == 0) return false;
  if (spin(isSet)) return true;
  Waiters &w = waiters();
  std::unique_lock<std::mutex> lock(w.mutex);
  ++w.count;
  bool set = sleepUntil(w.changed, lock, timeout, isSet);
  --w.count;
  return set;
}

ZE_API ze_result_t zeEventPoolCreate(ze_context_handle_t context, const ze_event_pool_desc_t *desc, uint32_t,
                                     ze_device_handle_t *, ze_event_pool_handle_t *pool) {
  if (auto error = checkCall(__func__, {context}, {desc, pool})) return error;
  if (desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  auto *counters = chained<ze_event_pool_counter_based_exp_desc_t>(
      desc, ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC);
  *pool = new EventPool{desc->count, counters != nullptr};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) { return destroy(__func__, pool); }

ZE_API ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
                                 ze_event_handle_t *event) {
  if (auto error = checkCall(__func__, {pool}, {desc, event})) return error;
  if (desc->index >= pool->count) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *event = new Event(pool->counterBased);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventDestroy(ze_event_handle_t event) { return destroy(__func__, event); }

ZE_API ze_result_t zeEventHostSignal(ze_event_handle_t event) {
  if (auto error = checkCall(__func__, {event})) return error;
  if (event->counterBased) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  uint64_t now = nanoseconds();
  signal(*event->completion, now, now);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostReset(ze_event_handle_t event) {
  if (auto error = checkCall(__func__, {event})) return error;
  if (event->counterBased) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  event->completion->set = false;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout) {
  if (auto error = checkCall(__func__, {event})) return error;
  auto completion = event->completion;
  return status(await(completion->set, timeout));
}

ZE_API ze_result_t zeEventQueryStatus(ze_event_handle_t event) {
  if (auto error = checkCall(__func__, {event})) return error;
  return status(event->completion->set);
}

ZE_API ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *result) {
  if (auto error = checkCall(__func__, {event}, {result})) return error;
  const Completion &completion = *event->completion;
  if (!completion.set) return ZE_RESULT_NOT_READY;
  result->global = result->context = {completion.start, completion.end};
  return ZE_RESULT_SUCCESS;
}

// Fences: set when a submission to a queue has completed.
ZE_API ze_result_t zeFenceCreate(ze_command_queue_handle_t queue, const ze_fence_desc_t *desc,
                                 ze_fence_handle_t *fence) {
  if (auto error = checkCall(__func__, {queue}, {desc, fence})) return error;
  *fence = new Fence{std::make_shared<std::atomic<bool>>((desc->flags & ZE_FENCE_FLAG_SIGNALED) != 0)};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeFenceDestroy(ze_fence_handle_t fence) { return destroy(__func__, fence); }

ZE_API ze_result_t zeFenceHostSynchronize(ze_fence_handle_t fence, uint64_t timeout) {
  if (auto error = checkCall(__func__, {fence})) return error;
  return status(await(*fence->set, timeout));
}

ZE_API ze_result_t zeFenceQueryStatus(ze_fence_handle_t fence) {
  if (auto error = checkCall(__func__, {fence})) return error;
  return status(*fence->set);
}

ZE_API ze_result_t zeFenceReset(ze_fence_handle_t fence) {
  if (auto error = checkCall(__func__, {fence})) return error;
  *fence->set = false;
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
