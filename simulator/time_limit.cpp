#include "time_limit.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

#include "driver.hpp"

namespace simulator {

struct Running {
  std::string kernel;
  size_t items, groups;  // work-items of a group, groups
  uint64_t start;
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

// The parts of a name that numba has mangled: lengths and texts. numba-dpex appends "$" and a number.
static std::string readable(const std::string &mangled) {
  std::string name;
  for (size_t at = mangled.compare(0, 3, "_ZN") ? mangled.size() : 3; at < mangled.size() && isdigit(mangled[at]);) {
    char *text;
    size_t size = strtoul(&mangled[at], &text, 10);
    at = (size_t)(text - mangled.data());
    name += (name.empty() ? "" : ".") + mangled.substr(at, size).substr(0, mangled.substr(at, size).rfind("_24"));
    at += std::min(size, mangled.size() - at);
  }
  return name.empty() ? mangled : name;
}

static std::string advice(const Running &r) {
  if (r.items > 1)
    return "The simulator runs the " + std::to_string(r.items) +
           " work-items of a group one after another, up to their next barrier: one that waits for a later one waits "
           "for ever.";
  if (r.groups > 1)
    return "Of the " + std::to_string(r.groups) +
           " work-groups, only as many as there are cores run at a time: one that waits for a later one may wait for "
           "ever.";
  return "It may wait for a value that nobody writes.";
}

// A thread that runs machine code cannot be stopped, so the kernel is abandoned.
static void abandon(const Running &r) {
  complain("kernel %s has not ended after %g s (ISHMEM_TIMEOUT=%s): the device is lost. %s", readable(r.kernel).c_str(),
           (double)settings().kernelLimit / 1e9, getenv("ISHMEM_TIMEOUT"), advice(r).c_str());
  if (settings().inlineWork) abort();  // the kernel runs on the thread that would get the error
  lost = true;
  hung = true;
}

void Watch::run() {
  const uint64_t limit = settings().kernelLimit;
  for (;;) {
    usleep((useconds_t)std::min<uint64_t>(limit / 8000 + 1, 500000));
    std::lock_guard<std::mutex> lock(mutex);
    if (running.empty() || nanoseconds() - running.begin()->second.start < limit) continue;
    return abandon(running.begin()->second);
  }
}

TimeLimit::TimeLimit(const std::string &kernel, const std::array<size_t, 3> &global,
                     const std::array<size_t, 3> &local) {
  if (settings().kernelLimit == 0) return;
  Watch &w = watch();
  const size_t items = local[0] * local[1] * local[2], all = global[0] * global[1] * global[2];
  std::lock_guard<std::mutex> lock(w.mutex);
  place_ = w.last++;
  w.running[place_] = {kernel, items, all / items, nanoseconds()};
  if (!w.started) std::thread([&w] { w.run(); }).detach();
  w.started = true;
}

TimeLimit::~TimeLimit() {
  if (place_ < 0) return;
  std::lock_guard<std::mutex> lock(watch().mutex);
  watch().running.erase(place_);
}

}  // namespace simulator
