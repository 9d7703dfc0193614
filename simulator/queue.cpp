#include "queue.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "command_list.hpp"
#include "work.hpp"

namespace simulator {

static const int mostThreads = 16;  // kernels of a queue that run at the same time

struct QueuedItem {
  uint64_t number;  // in the order of submission to this queue, from 1
  uint64_t work;    // its number among the submissions to all queues
  uint64_t after;   // number of the item that has to complete before
  Submission submission;
};

// The threads are detached, because a kernel may spin for ever: neither a destructor nor the exit may wait for them.
//
// Submissions start in order. A kernel overlaps the kernels before and after it, unless an event, a barrier or another
// command separates them, so kernels that wait for each other make progress. Everything else runs alone.
//
// Queues of the only compute engine of a device share a worker, as a driver writes the commands of all of them into one
// stream: a command that stalls waits for the kernels of all queues, and so does the host when it synchronizes with one
// queue by such a command. An event that a kernel signals stalls nothing. The commands of an in-order list wait for each
// other, and so does what comes after them in the stream.
struct Queue::Worker : std::enable_shared_from_this<Queue::Worker> {
  std::mutex mutex;
  std::condition_variable submission, completion;
  std::deque<QueuedItem> work;
  std::set<uint64_t> early;  // numbers of items that have completed before an item submitted earlier
  std::atomic<uint64_t> submitted{0}, taken{0}, completed{0};  // completed: all items up to this number have
  std::atomic<bool> closed{false};
  int threads = 0, idle = 0, sleeping = 0, running = 0, waiting = 0;
  bool alone = false;      // an item runs that does not overlap others
  bool starting = false;   // an item has been taken and waits for its events
  const int most;

  explicit Worker(int most) : most(most) {}
  static std::shared_ptr<Worker> of(ze_device_handle_t device, bool ordered, bool shared);
  bool hasCompleted(uint64_t number) const { return number <= completed.load() || early.count(number); }
  bool canStart() const;
  void addThread();
  bool next(QueuedItem &item);
  void start(const QueuedItem &item);
  void complete(const QueuedItem &item);
  void run();
};

// Whether the first item may start. The caller holds the mutex, as for `addThread`.
bool Queue::Worker::canStart() const {
  if (work.empty() || starting) return false;
  const QueuedItem &next = work.front();
  return next.submission.overlaps ? !alone && hasCompleted(next.after) : running == 0;
}

std::shared_ptr<Queue::Worker> Queue::Worker::of(ze_device_handle_t device, bool ordered, bool shared) {
  if (!shared) return std::make_shared<Worker>(ordered ? 1 : std::min<int>(mostThreads, (int)settings().engines));
  static auto *engines = new std::map<uint32_t, std::shared_ptr<Worker>>;  // never destroyed, as in work.cpp
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  auto &engine = (*engines)[device->index];
  if (!engine) engine = std::make_shared<Worker>(mostThreads);
  return engine;
}

// Starts a thread if an item can start and no thread is free.
void Queue::Worker::addThread() {
  if (!canStart()) return;
  if (sleeping) submission.notify_all();
  if (idle || threads == most) return;
  ++threads;
  ++idle;
  std::thread([worker = shared_from_this()] { worker->run(); }).detach();
}

// Takes the next item. Returns false when the queue is closed and empty.
bool Queue::Worker::next(QueuedItem &item) {
  spin([this] { return submitted.load() != taken.load() || closed.load(); });
  std::unique_lock<std::mutex> lock(mutex);
  ++sleeping;
  submission.wait(lock, [this] { return canStart() || (closed.load() && work.empty()); });
  --sleeping;
  if (work.empty()) return false;
  item = std::move(work.front());
  work.pop_front();
  ++taken;
  --idle;
  ++running;
  alone = !item.submission.overlaps;
  starting = !item.submission.waits.empty();
  addThread();
  return true;
}

// Waits for the events of an item; later items of the queue cannot start before it.
void Queue::Worker::start(const QueuedItem &item) {
  for (auto &completion : item.submission.waits) await(completion->set, forever);
  if (item.submission.started) raise(item.submission.started->set);
  if (item.submission.waits.empty()) return;
  std::lock_guard<std::mutex> lock(mutex);
  starting = false;
  addThread();
}

void Queue::Worker::complete(const QueuedItem &item) {
  std::lock_guard<std::mutex> lock(mutex);
  early.insert(item.number);
  while (!early.empty() && *early.begin() == completed.load() + 1) {
    early.erase(early.begin());
    ++completed;
  }
  --running;
  ++idle;
  alone = false;
  workEnds(item.work);
  addThread();
  if (waiting) completion.notify_all();
}

void Queue::Worker::run() {
  for (QueuedItem item; next(item);) {
    start(item);
    item.submission.work();
    item.submission = {};
    complete(item);
  }
}

Queue::Queue(ze_device_handle_t device, const ze_command_queue_desc_t &desc)
    : synchronous_(desc.mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS),
      ordered_(desc.flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER),
      computes_(desc.ordinal == computeGroup),
      shared_(settings().engines == 1 && desc.ordinal == computeGroup) {
  worker_ = Worker::of(device, ordered_, shared_);
}

Queue::~Queue() {
  if (shared_) return;
  std::lock_guard<std::mutex> lock(worker_->mutex);
  worker_->closed = true;
  worker_->submission.notify_all();
}

// The compute queues of a process start lists and single commands in the order of their submissions, as on one engine.
// SYCL's graphs rely on it: an immediate list waits for an event that the lists before it reset. Returns a lock for the
// time until the submission is in its queue, which a process needs only once it has executed lists.
static std::unique_lock<std::mutex> putInOrder(Submission &submission, bool isBatch) {
  static auto *mutex = new std::mutex;  // never destroyed, as in work.cpp
  static std::atomic<bool> executesLists{false};
  static auto *batch = new std::shared_ptr<Completion>;
  static auto *since = new std::vector<std::shared_ptr<Completion>>;
  if (isBatch) executesLists = true;
  if (!executesLists) return {};
  std::unique_lock<std::mutex> lock(*mutex);
  submission.started = std::make_shared<Completion>();
  if (*batch && !(*batch)->set) submission.waits.push_back(*batch);
  since->erase(std::remove_if(since->begin(), since->end(), [](auto &each) { return each->set.load(); }), since->end());
  if (isBatch) {
    submission.waits.insert(submission.waits.end(), since->begin(), since->end());
    since->clear();
    *batch = submission.started;
  } else {
    since->push_back(submission.started);
  }
  return lock;
}

void Queue::submit(Submission submission, bool isBatch) {
  if (settings().inlineWork) return submission.work();
  const uint64_t work = workBegins();
  {
    auto order = computes_ && !shared_ ? putInOrder(submission, isBatch) : std::unique_lock<std::mutex>();
    Worker &w = *worker_;
    std::lock_guard<std::mutex> lock(w.mutex);
    const uint64_t after = ordered_ ? last_ : 0;
    last_ = ++w.submitted;
    w.work.push_back({last_, work, after, std::move(submission)});
    w.addThread();
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
  if (auto error = checkCall(__func__, {context, device}, {desc, queue})) return error;
  *queue = new Queue(device, *desc);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandQueueDestroy(ze_command_queue_handle_t queue) { return destroy(__func__, queue); }

ZE_API ze_result_t zeCommandQueueSynchronize(ze_command_queue_handle_t queue, uint64_t timeout) {
  if (auto error = checkCall(__func__, {queue})) return error;
  return status(queue->synchronize(timeout));
}

using Batch = std::vector<std::shared_ptr<Commands>>;

static void resetCounters(const Commands &commands) {
  for (auto &command : commands)
    if (command.counts) command.signal->set = false;
}

static ze_result_t collect(uint32_t count, ze_command_list_handle_t *lists, Batch &batch) {
  if (!lists) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  for (uint32_t i = 0; i < count; ++i) {
    if (!lists[i]) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (lists[i]->immediate || !lists[i]->closed) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    batch.push_back(lists[i]->commands);
  }
  for (auto &commands : batch)
    if (commands->runs++ == 0) resetCounters(*commands);  // otherwise the run before still signals them
  return ZE_RESULT_SUCCESS;
}

static void run(const Batch &batch) {
  for (auto &commands : batch) resetCounters(*commands);
  for (auto &commands : batch) {
    for (auto &command : *commands) run(command);
    --commands->runs;
  }
}

ZE_API ze_result_t zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t queue, uint32_t count,
                                                     ze_command_list_handle_t *lists, ze_fence_handle_t fence) {
  if (auto error = checkCall(__func__, {queue})) return error;
  Batch batch;
  if (auto error = collect(count, lists, batch)) return error;
  auto work = [batch = std::move(batch), set = fence ? fence->set : nullptr] {
    run(batch);
    if (set) raise(*set);
  };
  queue->submit({std::move(work)}, true);
  return status(true);
}

ZE_API ze_result_t zeCommandListImmediateAppendCommandListsExp(ze_command_list_handle_t list, uint32_t count,
                                                               ze_command_list_handle_t *lists,
                                                               ze_event_handle_t signal, uint32_t waitCount,
                                                               ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (!list->immediate) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
  Batch batch;
  if (auto error = collect(count, lists, batch)) return error;
  auto work = [batch = std::move(batch)] {
    run(batch);
    return true;
  };
  return append(list, std::move(work), signal, waitCount, waits);
}

}  // namespace simulator
