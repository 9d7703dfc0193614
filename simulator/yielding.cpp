#include "yielding.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace simulator {

static constexpr long first = 100000, shortest = 50000, longest = 1000000;  // nanoseconds between interruptions

// Returns how often another thread has taken the core from this one.
static long switches() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw + usage.ru_nivcsw;
}

struct Yielding::Timer {
  timer_t id;
  bool made = false;
  volatile bool armed = false;
  long interval = first;

  Timer() {
    static const bool handled = handle();
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal();
    event.sigev_value.sival_ptr = this;
    event._sigev_un._tid = (int)syscall(SYS_gettid);
    made = handled && timer_create(CLOCK_MONOTONIC, &event, &id) == 0;
  }

  ~Timer() {
    if (made) timer_delete(id);
  }

  void set(long nanoseconds) {
    itimerspec when{{0, 0}, {0, nanoseconds}};
    if (made) timer_settime(id, 0, &when, nullptr);
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

  static void interrupted(int, siginfo_t *info, void *) {
    if (info->si_code != SI_TIMER) return;
    int error = errno;
    auto &timer = *(Timer *)info->si_value.sival_ptr;
    long before = switches();
    sched_yield();
    timer.interval = switches() > before ? shortest : std::min(2 * timer.interval, longest);
    if (timer.armed) timer.set(timer.interval);
    errno = error;
  }
};

Yielding::Timer &Yielding::ofThisThread() {
  static thread_local Timer timer;
  return timer;
}

Yielding::Yielding() {
  Timer &timer = ofThisThread();
  timer.interval = first;
  timer.armed = true;
  timer.set(first);
}

Yielding::~Yielding() {
  Timer &timer = ofThisThread();
  timer.armed = false;
  timer.set(0);
}

}  // namespace simulator
