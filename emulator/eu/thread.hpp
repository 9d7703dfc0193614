// The state of a hardware thread and of a thread group, and the counts of a kernel.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "execution.hpp"
#include "instruction.hpp"

namespace ishmem_emulator::caches {
class Core;
}

namespace ishmem_emulator::eu {

// What a kernel cannot continue after. The text lacks the kernel, the instruction and the thread.
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum MessageKind {
  kLoad, kBlockLoad, kStore, kBlockStore, kAtomic, kFence, kPrefetch, kSlmLoad, kSlmStore, kSlmAtomic, kSlmFence,
  kScratchLoad, kScratchStore, kBarrier, kEnd, kMessageKinds
};

struct Counts {
  uint64_t instructions = 0;
  uint64_t messages[kMessageKinds] = {};

  void add(const Counts& other) {
    instructions += other.instructions;
    for (int k = 0; k < kMessageKinds; ++k) messages[k] += other.messages[k];
  }
};

// Lookups of one host thread in one address space.
class Translator {
 public:
  void use(Space& space) {
    const uint64_t generation = space.generation();
    if (space_ == &space && generation_ == generation) return;
    space_ = &space;
    generation_ = generation;
    for (Entry& entry : entries_) entry.bytes = 0;
  }
  char* find(uint64_t address, uint64_t bytes, Access access) {
    char* host = find_recent(address, bytes, access);
    return host ? host : find_other(address, bytes, access);
  }
  // nullptr if it was not looked up last.
  char* find_recent(uint64_t address, uint64_t bytes, Access access) const {
    const Entry& recent = entries_[last_];
    return recent.has(address, bytes, access) ? recent.host + (address - recent.address) : nullptr;
  }

 private:
  struct Entry {
    uint64_t address = 0, bytes = 0;
    char* host = nullptr;
    Access access = Access::Read;  // what was asked for: memory that takes stores need not take atomics

    bool has(uint64_t from, uint64_t size, Access how) const {
      const uint64_t inside = from - address;
      return inside < bytes && size <= bytes - inside && how <= access;
    }
  };
  char* find_other(uint64_t address, uint64_t bytes, Access access);

  Space* space_ = nullptr;
  uint64_t generation_ = 0;
  Entry entries_[8];
  int last_ = 0, next_ = 0;
};

struct Barrier {
  uint32_t arrived = 0, generation = 0;
};

struct Group {
  static constexpr int kBarriers = 32;
  const Walker* walker = nullptr;
  const Kernel* kernel = nullptr;
  Translator* memory = nullptr;  // of the host thread that runs the group
  uint32_t id[3] = {};
  uint32_t threads = 0, running = 0;
  std::vector<char> slm;
  Barrier barriers[kBarriers];
  Counts counts;
  uint64_t changes = 0;  // what other threads can see: stores, atomics that changed a word, barriers, ends
  caches::Core* l1 = nullptr;            // of its core, where caches are emulated
  uint64_t number = 0, walk_number = 0;  // by which the caches know it and its walker
};

enum class State : uint8_t { Running, Waiting, Yielding, Done };

struct Thread {
  alignas(64) uint8_t registers[place::kBytes];
  int64_t products[16 * 16];    // accumulators of 32-bit integers, at their full width
  int16_t exponents[8][32];     // of math macros: the value is the register's times two to this power
  uint32_t active = 0, dispatch = 0, launched = 0;
  uint32_t widened = 0;         // branches without the mask that it is in
  int32_t next = 0;             // index of the next instruction
  int32_t waiting_at[32];       // of each channel that is not active
  State state = State::Done;
  bool flushes = false;         // denormals of some floats
  uint32_t signalled = 0;       // barriers that it waits for, as a mask
  uint32_t seen[Group::kBarriers];
  uint32_t index = 0, slot = 0; // in its group, and of the hardware
  Group* group = nullptr;
  std::vector<char> scratch;

  // To see that a thread spins: what it loaded since it passed the last backward branch.
  uint64_t loads = 0, loads_before = 0, changes_before = 0;
  uint32_t repeats = 0;
  int32_t branch_before = -1;
  bool loaded = false;

  uint32_t& word(int offset) { return *reinterpret_cast<uint32_t*>(registers + offset); }
  uint32_t word(int offset) const { return *reinterpret_cast<const uint32_t*>(registers + offset); }
  uint32_t flag(int number) const { return word(place::kFlags + 4 * number); }
  uint32_t& flag(int number) { return word(place::kFlags + 4 * number); }

  void begin(Group& of, uint32_t number, uint32_t hardware_slot, int generation);
  // Whether all barriers that it has signalled are complete.
  bool is_released();
  // Execute at most `most` instructions; returns how many it executed.
  uint64_t run(uint64_t most);
  void note_load(uint64_t address, const void* value, int bytes) {
    uint64_t word = 0;
    memcpy(&word, value, bytes);
    loads = (loads ^ address) * 0x9e3779b97f4a7c15u + word;
    loaded = true;
  }
};

// Rounding, and what becomes of denormals, as the thread's control register says.
void apply_control(Thread&);

}  // namespace ishmem_emulator::eu
