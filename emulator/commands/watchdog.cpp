#include "watchdog.hpp"

#include <chrono>
#include <cstdlib>
#include <thread>

#include "../report.hpp"

namespace ishmem_emulator {

static double limit() {
  static const double seconds = [] {
    const char *value = getenv("ISHMEM_CARD_TIME_LIMIT");
    if (!value || !*value) return 0.0;
    char *end;
    const double number = strtod(value, &end);
    if (*end == 0 && number > 0) return number;
    say("ISHMEM_CARD_TIME_LIMIT=%s is not a number of seconds; kernels run without a limit", value);
    return 0.0;
  }();
  return seconds;
}

namespace {

struct Watched {
  std::mutex lock;
  std::condition_variable ended;
  bool over = false;
};

void wait(std::shared_ptr<Watched> watched, std::shared_ptr<Context> context, uint64_t kernel) {
  std::unique_lock<std::mutex> lock(watched->lock);
  const std::chrono::duration<double> time(limit());
  if (watched->ended.wait_for(lock, time, [&] { return watched->over; })) return;
  context->ban(formatted("the kernel at 0x%llx ran for more than %g s, as ISHMEM_CARD_TIME_LIMIT allows: it is reset",
                         (unsigned long long)kernel, limit()));
}

void end(const std::shared_ptr<Watched> &watched) {
  std::lock_guard<std::mutex> lock(watched->lock);
  watched->over = true;
  watched->ended.notify_all();
}

}  // namespace

std::shared_ptr<void> watch(const std::shared_ptr<Context> &context, uint64_t kernel) {
  if (limit() == 0) return nullptr;
  auto watched = std::make_shared<Watched>();
  std::thread(wait, watched, context, kernel).detach();
  return std::shared_ptr<void>(watched.get(), [watched](void *) { end(watched); });
}

}  // namespace ishmem_emulator
