#include "context.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

#include "../cards/card.hpp"
#include "../report.hpp"

namespace ishmem_emulator {

std::string nameOf(const Engine &engine) {
  const char *kind = engine.kind == Render ? "render" : engine.kind == Copy ? "copy" : "compute";
  const Card &card = *installedCards()[(size_t)engine.card];
  std::string tile = card.tiles > 1 ? formatted(" tile %d", engine.tile) : "";
  return formatted("card %d (%s)%s, %s engine %d", engine.card, card.option, tile.c_str(), kind, engine.instance);
}

char *Context::at(uint64_t address, uint64_t bytes, Access access, uint64_t *extent) {
  char *host = space->find(address, bytes, access, extent);
  if (host) return host;
  const char *const names[] = {"read", "write", "atomic"};
  throw CommandError(formatted("page fault: %s of %llu bytes at 0x%llx", names[(int)access], (unsigned long long)bytes,
                               (unsigned long long)address));
}

uint32_t Context::load32(uint64_t address) {
  return __atomic_load_n((uint32_t *)at(address, 4, Access::Read), __ATOMIC_ACQUIRE);
}

uint64_t Context::load64(uint64_t address) {
  return __atomic_load_n((uint64_t *)at(address, 8, Access::Read), __ATOMIC_ACQUIRE);
}

void Context::store32(uint64_t address, uint32_t value) {
  __atomic_store_n((uint32_t *)at(address, 4, Access::Write), value, __ATOMIC_SEQ_CST);
}

void Context::store64(uint64_t address, uint64_t value) {
  __atomic_store_n((uint64_t *)at(address, 8, Access::Write), value, __ATOMIC_SEQ_CST);
}

void Context::ban(const std::string &why) {
  if (!stopped_ && !banned_.exchange(true)) say("%s: %s. The context is banned", nameOf(engine).c_str(), why.c_str());
  stop();
}

void Context::stop() {
  std::lock_guard<std::mutex> lock(lock_);
  stopped_ = true;
  changed_.notify_all();
}

void Context::kernelStarts() {
  std::lock_guard<std::mutex> lock(lock_);
  ++kernels_;
}

void Context::kernelEnds() {
  std::lock_guard<std::mutex> lock(lock_);
  if (--kernels_ == 0) changed_.notify_all();
}

void Context::waitForKernels() {
  std::unique_lock<std::mutex> lock(lock_);
  changed_.wait(lock, [&] { return kernels_ == 0 || stopped_; });
}

void Context::waitForAllKernels() {
  std::unique_lock<std::mutex> lock(lock_);
  changed_.wait(lock, [&] { return kernels_ == 0; });
}

uint64_t timestamp() {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  __extension__ using Wide = unsigned __int128;
  return (uint64_t)((Wide)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) * referenceClock / 1000000000u);
}

void Pause::once() {
  const unsigned yields = 20, longest = 500;  // microseconds
  if (++looks_ <= yields) std::this_thread::yield();
  else std::this_thread::sleep_for(std::chrono::microseconds(std::min((looks_ - yields) / 8 + 1, longest)));
}

}  // namespace ishmem_emulator
