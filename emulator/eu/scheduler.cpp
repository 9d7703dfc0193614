// The execution units of a device: a few threads of the host execute the resident thread groups in turns.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <thread>

#include "counters.hpp"
#include "decode.hpp"
#include "resident.hpp"

namespace ishmem_emulator {

using namespace eu;

class ExecutionUnits::Pool {
 public:
  explicit Pool(const CardModel& model)
      : model_(model), residency_(model), random_(model.seed), owner_(getpid()) {}
  ~Pool();

  bool belongs_to_this_process() const { return owner_ == getpid(); }
  void start(std::shared_ptr<Walk>);
  void flush_caches();

 private:
  using Lock = std::unique_lock<std::mutex>;
  using Turn = std::unique_ptr<Resident>;

  void add_worker();
  void work();
  void choose_caches(Walk&);
  Turn next(Lock&);
  Turn begin_group();
  void begin_threads(Resident&);
  Turn take_ready();
  void finish(Turn, Lock&);
  void end(std::shared_ptr<Walk>, Lock&);
  void fail_stopped(Lock&);
  void rest(const Resident&, Lock&);

  const CardModel model_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Residency residency_;
  std::mt19937_64 random_;
  std::list<std::shared_ptr<Walk>> walks_;
  std::deque<Turn> ready_;
  std::vector<std::unique_ptr<Thread>> spare_;
  std::vector<std::thread> workers_;
  std::unique_ptr<caches::Machine> caches_;  // once they are asked for
  int64_t caches_seed_ = -1;
  uint64_t quiet_ = 0;  // turns in a row that only looked at memory
  bool closing_ = false;
  const pid_t owner_;
};

namespace {

// What the arguments of a kernel point to.
std::vector<const char*> arguments_of(const Walk& walk) {
  constexpr uint32_t kMost = 256;
  const Walker& w = walk.walker;
  uint64_t words[kMost / 8 + sizeof w.inline_data / 8] = {};
  const uint32_t bytes = std::min(w.indirect_data_length, kMost) & ~7u;
  const uint64_t address = w.general_state_base + w.indirect_data_start;
  if (const char* data = bytes ? walk.space->find(address, bytes, Access::Read) : nullptr) memcpy(words, data, bytes);
  memcpy(words + kMost / 8, w.inline_data, sizeof w.inline_data);
  std::vector<const char*> places;
  for (const uint64_t word : words)
    if (const char* place = word ? walk.space->find(word, 1, Access::Read) : nullptr) places.push_back(place);
  return places;
}

void give_caches(Walk& walk, int core, Group& group) {
  group.l1 = &walk.caches_of_device->core(core);
  group.number = walk.caches_of_device->next_number();
  group.walk_number = walk.number;
}

unsigned most_workers() { return std::max(1u, std::min(4u, std::thread::hardware_concurrency())); }

}  // namespace

ExecutionUnits::Pool::~Pool() {
  {
    const Lock lock(mutex_);
    closing_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  for (const std::shared_ptr<Walk>& walk : walks_) walk->ended({false, "the execution units were closed"});
}

// Signals are for the program's own threads.
void ExecutionUnits::Pool::add_worker() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  workers_.emplace_back([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ExecutionUnits::Pool::start(std::shared_ptr<Walk> walk) {
  const Lock lock(mutex_);
  choose_caches(*walk);
  walks_.push_back(std::move(walk));
  if (workers_.empty()) add_worker();
  quiet_ = 0;
  changed_.notify_one();
}

// As the setting says when the walker starts.
void ExecutionUnits::Pool::choose_caches(Walk& walk) {
  const int64_t seed = caches::seed_of_setting();
  if (seed < 0) return;
  if (!caches_) caches_ = std::make_unique<caches::Machine>(model_.xe_cores, static_cast<uint64_t>(seed));
  else if (seed != caches_seed_) caches_->seed(static_cast<uint64_t>(seed));
  caches_seed_ = seed;
  walk.caches_of_device = caches_.get();
  walk.number = caches_->next_number();
  caches_->begin(arguments_of(walk));
}

void ExecutionUnits::Pool::flush_caches() {
  caches::Machine* caches;
  {
    const Lock lock(mutex_);
    caches = caches_.get();
  }
  if (caches) caches->flush();
}

void ExecutionUnits::Pool::begin_threads(Resident& resident) {
  const Walk& walk = *resident.walk;
  Group& group = resident.group;
  group.threads = group.running = walk.walker.threads_per_group;
  const uint32_t step = walk.walker.large_grf ? 2 : 1;
  for (uint32_t k = 0; k < group.threads; ++k) {
    if (spare_.empty()) spare_.push_back(std::make_unique<Thread>());
    resident.threads.push_back(std::move(spare_.back()));
    spare_.pop_back();
    resident.threads.back()->scratch.clear();
    resident.threads.back()->begin(group, k, resident.room.slots[k * step], model_.generation);
  }
}

// The next group of the first walker that has one, if there is room for it.
ExecutionUnits::Pool::Turn ExecutionUnits::Pool::begin_group() {
  for (const std::shared_ptr<Walk>& walk : walks_) {
    if (!walk->has_more()) continue;
    const Walker& w = walk->walker;
    auto resident = std::make_unique<Resident>();
    if (!residency_.take(w, resident->room)) continue;
    const uint64_t number = walk->begun++;
    ++walk->resident;
    resident->walk = walk;
    Group& group = resident->group;
    group.walker = &walk->walker;
    group.kernel = walk->kernel.get();
    group.id[0] = w.group_start[0] + static_cast<uint32_t>(number % w.groups[0]);
    group.id[1] = w.group_start[1] + static_cast<uint32_t>(number / w.groups[0] % w.groups[1]);
    group.id[2] = w.group_start[2] + static_cast<uint32_t>(number / w.groups[0] / w.groups[1]);
    group.slm.resize(w.slm_bytes);
    if (walk->caches_of_device) give_caches(*walk, resident->room.core, group);
    begin_threads(*resident);
    return resident;
  }
  return nullptr;
}

ExecutionUnits::Pool::Turn ExecutionUnits::Pool::take_ready() {
  if (ready_.empty()) return nullptr;
  if (model_.seed) std::swap(ready_.front(), ready_[random_() % ready_.size()]);
  Turn turn = std::move(ready_.front());
  ready_.pop_front();
  return turn;
}

// A group that may run, or nullptr when the units close. New groups come first, so that all that are resident run.
ExecutionUnits::Pool::Turn ExecutionUnits::Pool::next(Lock& lock) {
  for (;;) {
    fail_stopped(lock);  // without the lock for a while
    if (closing_) return nullptr;
    Turn turn = begin_group();
    if (!turn) turn = take_ready();
    if (turn) return turn;
    changed_.wait(lock);
  }
}

// Walkers whose queue was stopped begin no more groups; those that run end at their next turn.
void ExecutionUnits::Pool::fail_stopped(Lock& lock) {
  for (auto at = walks_.begin(); at != walks_.end();) {
    const std::shared_ptr<Walk> walk = *at++;
    if (walk->failure.empty() && walk->stop->load(std::memory_order_relaxed)) walk->failure = "stopped";
    if (!walk->is_over()) continue;
    end(walk, lock);
    at = walks_.begin();
  }
}

void ExecutionUnits::Pool::end(std::shared_ptr<Walk> walk, Lock& lock) {
  walks_.remove(walk);
  lock.unlock();
  if (walk->caches_of_device) walk->caches_of_device->finish(walk->number);
  report_counts(walk->walker, walk->groups, walk->counts);
  walk->ended({walk->failure.empty(), walk->failure});
  walk.reset();
  lock.lock();
}

void ExecutionUnits::Pool::finish(Turn turn, Lock& lock) {
  const std::shared_ptr<Walk> walk = turn->walk;
  walk->counts.add(turn->group.counts);
  if (walk->failure.empty()) walk->failure = turn->failure;
  residency_.give_back(turn->room);
  for (auto& thread : turn->threads) spare_.push_back(std::move(thread));
  --walk->resident;
  if (walk->is_over()) end(walk, lock);
  changed_.notify_all();
}

// When every group only looks at memory, what they wait for is up to another process, which may need this core. Kernels
// that count their looks have to come to an end of them: in a long wait there are more between two pauses.
void ExecutionUnits::Pool::rest(const Resident& resident, Lock& lock) {
  constexpr uint64_t kLong = 25, kLooks = 32;  // rounds
  quiet_ = resident.advanced ? 0 : quiet_ + 1;
  if (quiet_ <= ready_.size()) return;
  const uint64_t rounds = quiet_ / (ready_.size() + 1);
  if (rounds > kLong && rounds % kLooks) return;
  lock.unlock();
  usleep(static_cast<useconds_t>(std::min<uint64_t>(20 * rounds, 500)));
  lock.lock();
}

void ExecutionUnits::Pool::work() {
  Translator memory;
  Lock lock(mutex_);
  std::mt19937_64 random(random_());
  while (Turn turn = next(lock)) {
    if (!ready_.empty() && quiet_ == 0 && workers_.size() < most_workers()) add_worker();
    const bool goes_on = turn->walk->failure.empty();
    lock.unlock();
    if (goes_on) turn->turn(memory, model_.seed ? &random : nullptr);
    if (turn->walk->caches_of_device) turn->walk->caches_of_device->pass();
    lock.lock();
    if (!goes_on || turn->is_over()) {
      quiet_ = 0;
      finish(std::move(turn), lock);
      continue;
    }
    rest(*turn, lock);
    ready_.push_back(std::move(turn));
    changed_.notify_one();
  }
}

ExecutionUnits::ExecutionUnits(const CardModel& model) : model_(model), pool_(new Pool(model)) {}

ExecutionUnits::~ExecutionUnits() {
  if (pool_->belongs_to_this_process()) delete pool_;
}

void ExecutionUnits::flush_caches() {
  if (pool_->belongs_to_this_process()) pool_->flush_caches();
}

void ExecutionUnits::start(const Walker& walker, Space& space, const std::atomic<bool>& stop,
                           std::function<void(Ended)> ended) {
  // A child process has none of its parent's threads: it begins anew, and leaves what the parent had.
  if (!pool_->belongs_to_this_process()) pool_ = new Pool(model_);
  auto walk = std::make_shared<Walk>();
  walk->walker = walker;
  walk->space = &space;
  walk->stop = &stop;
  walk->groups = uint64_t(walker.groups[0]) * walker.groups[1] * walker.groups[2];
  std::string why;
  try {
    walk->kernel = kernel_at(walker.kernel_start, space, model_.generation);
    if (!Residency(model_).fits(walker, &why)) throw Failure(why);
  } catch (const Failure& error) {
    walk->failure = error.what();
  }
  walk->ended = std::move(ended);
  pool_->start(std::move(walk));
}

}  // namespace ishmem_emulator
