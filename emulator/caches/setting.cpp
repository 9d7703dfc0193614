#include "setting.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "../report.hpp"

namespace ishmem_emulator::caches {
namespace {

constexpr char kWeak[] = "weak:";
constexpr uint64_t kMicrosecond = 1000, kMillisecond = 1000 * kMicrosecond;

}  // namespace

int64_t seed_of_setting() {
  static std::atomic<bool> told{false};
  const char* text = getenv("ISHMEM_CARD_MEMORY");
  if (!text || !*text) return -1;
  const char* digits = text + sizeof kWeak - 1;
  char* end = nullptr;
  if (strncmp(text, kWeak, sizeof kWeak - 1) == 0 && *digits >= '0' && *digits <= '9') {
    const auto seed = static_cast<int64_t>(strtoull(digits, &end, 10) & INT64_MAX);
    if (!*end) return seed;
  }
  if (!told.exchange(true)) say("ISHMEM_CARD_MEMORY=%s: write weak:SEED, such as weak:7. Caches are not emulated", text);
  return -1;
}

// The first seeds differ in all of it. Without evictions, a loop that loads the same line never sees another value.
Temper temper_of(uint64_t seed) {
  static const uint32_t late[] = {50, 85, 25}, prefetch[] = {70, 100}, evict[] = {0, 2};
  static const uint64_t longest[] = {40 * kMillisecond, 10 * kMillisecond, 60 * kMillisecond, 2 * kMillisecond};
  static const uint64_t overtaken[] = {0, 150 * kMillisecond};
  return {late[seed % 3], longest[seed % 4], 100 * kMicrosecond, overtaken[seed % 2], prefetch[seed / 2 % 2], evict[(seed + 1) / 2 % 2]};
}

std::mt19937_64 generator_of(uint64_t seed, uint64_t core) {
  std::seed_seq numbers{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32), static_cast<uint32_t>(core)};
  return std::mt19937_64(numbers);
}

}  // namespace ishmem_emulator::caches
