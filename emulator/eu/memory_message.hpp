// Messages to memory: global memory, shared local memory and a thread's scratch space.
#pragma once

#include "../caches/core.hpp"
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {

namespace lsc {
enum Opcode : uint8_t {
  Load = 0, LoadComponents, LoadStrided, LoadBlock, Store, StoreComponents, StoreStrided, StoreBlock,
  Increment = 8, Decrement, AtomicLoad, AtomicStore, Add, Subtract, SignedMinimum, SignedMaximum, Minimum, Maximum,
  CompareExchange, FloatAdd, FloatSubtract, FloatMinimum, FloatMaximum, FloatCompareExchange, And, Or, Xor, Fence = 31
};
constexpr bool is_store(int opcode) { return opcode >= Store && opcode <= StoreBlock; }
constexpr bool is_atomic(int opcode) { return opcode >= Increment && opcode <= Xor; }
}  // namespace lsc

// What the descriptors say.
MemoryMessage decode_message(uint32_t descriptor, uint32_t extended);
Execute memory_message(const Instruction&);
Execute scratch_message(const Instruction&);

// Where the elements of a message are.
struct Target {
  enum Kind { Global, Local, Scratch } kind;
  uint64_t base;

  // Throws Failure where there is no such memory.
  char* find(Thread&, uint64_t address, uint64_t bytes, Access) const;
  // nullptr if it is not one piece, or has to be looked up.
  char* known(Thread&, uint64_t address, uint64_t bytes, Access) const;
};
Target target_of(const Thread&, const Instruction&, const MemoryMessage&);
uint64_t address_of(const Thread&, const Instruction&, const MemoryMessage&, const Target&, int lane);
// Bytes of registers that a component takes: for each, those of all lanes follow those of the last.
inline int component_bytes(const Instruction& i, const MemoryMessage& m) {
  return ((i.size > 16 ? 32 : 16) * m.register_bytes + 63) / 64 * 64;
}
[[noreturn]] void fail_address(const char* space, uint64_t address, uint64_t bytes, Access);

// Where caches are emulated: the same by way of those of the thread's core.
void cached_load_store(Thread&, const Instruction&, const MemoryMessage&, const Target&, uint32_t mask);
void cached_prefetch(Thread&, const Instruction&, const MemoryMessage&, uint32_t mask);
void cached_element(Thread&, char* place, uint8_t* lane, int bytes, bool store);
void cached_fence(Thread&, const Instruction&);
inline caches::Storer storer_of(const Thread& t) { return {t.group->walk_number, t.group->number, t.index}; }

void atomic_message(Thread&, const Instruction&, const MemoryMessage&, uint32_t mask);
void block_message(Thread&, const Instruction&, const MemoryMessage&);

}  // namespace ishmem_emulator::eu
