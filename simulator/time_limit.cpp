#include "time_limit.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "barrier_record.hpp"
#include "driver.hpp"
#include "kernel.hpp"
#include "opencl.hpp"

namespace simulator {

struct Running {
  std::string kernel;
  size_t items, groups;  // work-items of a group, groups
  uint64_t start;
  const volatile uint32_t *barriers;  // the record of its module, or null
};

struct Watch {
  std::mutex mutex;
  std::map<int, Running> running;  // by number, hence the oldest first
  int last = 0;
  bool started = false;

  void run();
};

static Watch &watch() {
  static Watch *only = new Watch;  // never destroyed: its thread may outlive main
  return *only;
}

// Why a kernel may wait for ever; empty if the way in which the simulator runs it is no reason.
static std::string reason(const Running &r) {
  const size_t atOnce = groupsAtOnce();
  std::string text;
  if (r.groups > atOnce)
    text = "its work-groups wait for each other: of the " + std::to_string(r.groups) + ", " + std::to_string(atOnce) +
           " run at a time, so one that waits for a later one waits for ever";
  if (r.items > 1)
    text += (text.empty() ? "the " : "; or the ") + std::to_string(r.items) + " work-items of a group " +
            (text.empty() ? "wait for each other" : "do") + ": they run one after another, up to their next barrier";
  return text;
}

// What `ishmemLongKernel` returns. A signal handler may read it while it changes.
static char longKernel[256];
static std::atomic<uint64_t> told{0};  // when it was last asked for

static void describe(const Running *r) {
  const std::string why = r ? reason(*r) : "";
  snprintf(longKernel, sizeof longKernel, "%s", why.empty() ? "" : ("kernel " + readableName(r->kernel) + ": perhaps " + why).c_str());
}

// A thread that runs machine code cannot be stopped, so the kernel is abandoned.
static void giveUp() {
  if (settings().inlineWork) abort();  // the kernel runs on the thread that would get the error
  lost = true;
  hung = true;
}

// No line if there was a report.
static void abandon(const Running &r) {
  const uint64_t limit = settings().kernelLimit;
  const bool reported = told > r.start + limit / 2 && told < r.start + limit - 1000000000;
  const std::string why = reason(r);
  if (!reported)
    complain("kernel %s has not ended after %g s (ISHMEM_TIMEOUT=%s): the device is lost. Perhaps %s",
             readableName(r.kernel).c_str(), (double)limit / 1e9, getenv("ISHMEM_TIMEOUT"),
             why.empty() ? "it waits for a value that nobody writes" : why.c_str());
  giveUp();
}

void Watch::run() {
  const uint64_t limit = settings().kernelLimit ? settings().kernelLimit : UINT64_MAX;
  for (;;) {
    usleep((useconds_t)std::min<uint64_t>(limit / 8000 + 1, 50000));
    std::lock_guard<std::mutex> lock(mutex);
    for (auto &each : running)
      if (each.second.barriers && reportBarrier(each.second.kernel, each.second.barriers)) return giveUp();
    const Running *oldest = running.empty() ? nullptr : &running.begin()->second;
    const uint64_t age = oldest ? nanoseconds() - oldest->start : 0;
    describe(age > limit / 4 ? oldest : nullptr);
    if (age > limit) return abandon(*oldest);
  }
}

TimeLimit::TimeLimit(const KernelCode &code, const std::array<size_t, 3> &global, const std::array<size_t, 3> &local) {
  if (settings().kernelLimit == 0 && !code.barriers) return;
  Watch &w = watch();
  const size_t items = local[0] * local[1] * local[2], all = global[0] * global[1] * global[2];
  std::lock_guard<std::mutex> lock(w.mutex);
  place_ = w.last++;
  w.running[place_] = {code.name, items, all / items, nanoseconds(), code.barriers};
  if (!w.started) std::thread([&w] { w.run(); }).detach();
  w.started = true;
}

TimeLimit::~TimeLimit() {
  if (place_ < 0) return;
  std::lock_guard<std::mutex> lock(watch().mutex);
  watch().running.erase(place_);
}

// For reports of a job that hangs: the kernel that runs for the longest time, and why it may wait for ever; or nothing.
// A signal handler may call it.
ZE_API const char *ishmemLongKernel() {
  told = nanoseconds();
  return longKernel;
}

}  // namespace simulator
