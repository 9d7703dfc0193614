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
  trace(__func__);
  if (!context) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(desc, pool)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  auto *counters = chained<ze_event_pool_counter_based_exp_desc_t>(
      desc, ZE_STRUCTURE_TYPE_COUNTER_BASED_EVENT_POOL_EXP_DESC);
  *pool = new EventPool{desc->count, counters != nullptr};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventPoolDestroy(ze_event_pool_handle_t pool) {
  trace(__func__);
  if (!pool) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  delete pool;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventCreate(ze_event_pool_handle_t pool, const ze_event_desc_t *desc,
                                 ze_event_handle_t *event) {
  trace(__func__);
  if (!pool) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (anyNull(desc, event)) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->index >= pool->count) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  *event = new Event(pool->counterBased);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventDestroy(ze_event_handle_t event) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  delete event;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostSignal(ze_event_handle_t event) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (event->counterBased) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  uint64_t now = nanoseconds();
  signal(*event->completion, now, now);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostReset(ze_event_handle_t event) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (event->counterBased) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  event->completion->set = false;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeEventHostSynchronize(ze_event_handle_t event, uint64_t timeout) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  auto completion = event->completion;
  return status(await(completion->set, timeout));
}

ZE_API ze_result_t zeEventQueryStatus(ze_event_handle_t event) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  return status(event->completion->set);
}

ZE_API ze_result_t zeEventQueryKernelTimestamp(ze_event_handle_t event, ze_kernel_timestamp_result_t *result) {
  trace(__func__);
  if (!event) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (!result) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const Completion &completion = *event->completion;
  if (!completion.set) return ZE_RESULT_NOT_READY;
  result->global = result->context = {completion.start, completion.end};
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
