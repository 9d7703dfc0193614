#include "yielding.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <iterator>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <utility>

#include "imports.hpp"

namespace simulator {

// Nanoseconds between interruptions: the first one; while other threads want the core and the thread waits, or computes;
// while they do not want it. Threads that have computed for long share a core in longer turns, up to `turn`: each turn
// begins with caches full of the other one's data.
static constexpr long first = 100000, waiting = 10000, computing = 50000, turn = 400000, longest = 1000000;
static constexpr long brief = 20000;  // the longest time for which a thread that waits takes the core
static constexpr int maxWorkers = 64;  // with more cores, waiting kernels leave some of them free

struct Timer;
static std::atomic<Timer *> workers[maxWorkers];  // of TBB's threads
static std::atomic<int> workerCount{0};
static std::atomic<int> sharedLaunches{0};  // running kernels with several work-groups

static long now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000000000 + time.tv_nsec;
}

// Returns how often another thread has taken the core from this one.
static long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

// Tells whether a thread waits: it has been interrupted at the same instruction with the same registers before. A loop
// that computes counts in a register.
class WaitDetector {
 public:
  bool seen(const void *context) {
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = REG_R8; i <= REG_RIP; ++i) hash = (hash ^ (uint64_t)registers[i]) * 0x100000001b3;
    const bool found = std::find(std::begin(last_), std::end(last_), hash) != std::end(last_);
    last_[next_++ % 8] = hash;
    return found;
  }

 private:
  uint64_t last_[8] = {};
  unsigned next_ = 0;
};

// Interrupts a thread of this process. It uses system calls directly, because the signal handler may call it.
struct Timer {
  const pid_t thread = (pid_t)syscall(SYS_gettid);
  int id = -1;
  volatile bool startsWorkers = false;
  std::atomic<bool> armed{false};
  long interval = first;
  WaitDetector place;
  long computesSince = 0;
  long afterGlance = 0;  // the time that follows the next look if that is a glance; otherwise 0

  ~Timer() {
    if (id >= 0) syscall(SYS_timer_delete, id);
  }

  bool create() {
    static const bool handled = handle();
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal();
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = thread;
    return handled && syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &id) == 0;
  }

  void set(long nanoseconds) {
    itimerspec when{{0, 0}, {0, nanoseconds}};
    if (id >= 0 || create()) syscall(SYS_timer_settime, id, 0, &when, nullptr);
  }

  void arm() {
    if (armed.exchange(true)) return;
    interval = first;
    computesSince = now();
    set(first);
  }

  void disarm() {
    if (armed.exchange(false)) set(0);
  }

  static int signal() { return SIGRTMIN + 7; }

  // Installs the signal handler unless the application uses the signal.
  static bool handle() {
    struct sigaction before{}, action{};
    if (sigaction(signal(), nullptr, &before) || before.sa_handler != SIG_DFL) return false;
    action.sa_sigaction = interrupted;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    return sigaction(signal(), &action, nullptr) == 0;
  }

  // Returns the time until the next interruption. A thread that has begun to wait is at a new place, as one that computes
  // is, so a glance follows soon after, at which a thread that computes keeps the core.
  long look(bool waits) {
    const long rest = std::exchange(afterGlance, 0);
    return rest && !waits ? rest : yield(waits);
  }

  // Gives the core to other threads; returns the time until the next interruption.
  long yield(bool waits) {
    const long before = switches(), start = now();
    if (waits) computesSince = start;
    sched_yield();
    if (switches() == before) return std::min(2 * interval, longest);
    if (waits) return waiting;
    afterGlance = now() - start < brief ? computing : std::clamp((start - computesSince) / 8, computing, turn);
    return waiting;
  }

  static void interrupted(int, siginfo_t *info, void *context) {
    if (info->si_code != SI_TIMER) return;
    int error = errno;
    auto &timer = *(Timer *)info->si_value.sival_ptr;
    if (timer.startsWorkers) armWorkers();
    timer.interval = timer.look(timer.place.seen(context));
    if (timer.armed) timer.set(timer.interval);
    errno = error;
  }

  static void armWorkers() {
    for (int i = 0; i < std::min(workerCount.load(), maxWorkers); ++i)
      if (Timer *worker = workers[i].load()) worker->arm();
  }

  static void disarmWorkers() {
    for (int i = 0; i < std::min(workerCount.load(), maxWorkers); ++i)
      if (Timer *worker = workers[i].load()) worker->disarm();
  }
};

static Timer &timerOfThisThread() {
  static thread_local Timer timer;
  return timer;
}

Yielding::Yielding(bool severalGroups) : shared_(severalGroups) {
  Timer &timer = timerOfThisThread();
  timer.startsWorkers = shared_;
  sharedLaunches += shared_;
  timer.arm();
}

Yielding::~Yielding() {
  timerOfThisThread().startsWorkers = false;
  timerOfThisThread().disarm();
  if (shared_ && --sharedLaunches == 0) Timer::disarmWorkers();
}

struct ThreadStart {
  void *(*run)(void *);
  void *argument;
};

static void *runWatched(void *start) {
  const ThreadStart thread = *(ThreadStart *)start;
  delete (ThreadStart *)start;
  const int place = workerCount++;
  if (place < maxWorkers) workers[place] = new Timer;  // never deleted: a signal handler of another thread may use it
  return thread.run(thread.argument);
}

// Replaces pthread_create.
static int createWatched(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  auto *start = new ThreadStart{run, argument};
  const int error = pthread_create(thread, attributes, runWatched, start);
  if (error) delete start;
  return error;
}

void watchThreadsOfTbb() {
  void *tbb = dlopen("libtbb.so.12", RTLD_NOW | RTLD_NOLOAD);
  if (tbb) redirectCalls(tbb, "pthread_create", (void *)createWatched);
}

}  // namespace simulator
