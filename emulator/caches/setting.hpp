// ISHMEM_CARD_MEMORY: whether the caches of the execution units are emulated, and the choices made by its seed.
#pragma once

#include <cstdint>
#include <random>

namespace ishmem_emulator::caches {

// The seed of "weak:SEED"; -1 if the variable is not set. A text that is neither is named in one line. It is read for each
// kernel, so that a program may set another seed.
int64_t seed_of_setting();

// How far a machine goes with what the memory model allows.
struct Temper {
  uint32_t late_percent;      // stores that take long
  uint64_t longest, shortest; // nanoseconds: bounds of a long delay and of the others
  uint64_t overtaken;         // how much later stores arrive that another one has overtaken
  uint32_t prefetch_percent;  // lines that are loaded before a kernel asks for them
  uint32_t evict_percent;     // passes that evict a line
};
Temper temper_of(uint64_t seed);

// A generator for one of several cores.
std::mt19937_64 generator_of(uint64_t seed, uint64_t core);

}  // namespace ishmem_emulator::caches
