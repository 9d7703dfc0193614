// Messages to global memory by way of the caches of the core, where these are emulated.
#include "memory_message.hpp"

namespace ishmem_emulator::eu {
namespace {

// A message, or one of its lanes.
struct Cached {
  Thread& t;
  const MemoryMessage& m;
  const Target& target;
  bool store;
  uint64_t number;  // parts of a store with the same number may arrive as one

  // Bytes that follow each other in memory and in the registers.
  void move(uint64_t address, uint8_t* registers, int bytes) const {
    char* place = target.find(t, address, bytes, store ? Access::Write : Access::Read);
    if (store) t.group->l1->store(place, registers, bytes, storer_of(t), number, m.cached);
    else t.group->l1->load(place, registers, bytes, m.cached);
  }

  void element(uint64_t address, uint8_t* lane) const {
    if (!store) memset(lane, 0, m.register_bytes);
    move(address, lane + (m.upper_half ? m.register_bytes - m.element_bytes : 0), m.element_bytes);
  }
};

void lane(const Cached& message, uint64_t address, uint8_t* registers, int bytes_per_component) {
  for (int e = 0; e < message.m.elements; ++e) {
    if (!(message.m.components >> e & 1)) continue;
    message.element(address + e * message.m.element_bytes, registers);
    registers += bytes_per_component;
  }
}

void all_lanes(Cached message, const Instruction& i, uint32_t mask) {
  const MemoryMessage& m = message.m;
  uint8_t* registers = message.t.registers + (message.store ? i.send.data : i.send.destination);
  if (m.transposed)
    return message.move(address_of(message.t, i, m, message.target, 0), registers, m.elements * m.element_bytes);
  const int bytes_per_component = component_bytes(i, m);
  for (uint32_t left = mask; left; left &= left - 1, ++message.number) {
    const int k = __builtin_ctz(left);
    lane(message, address_of(message.t, i, m, message.target, k), registers + k * m.register_bytes, bytes_per_component);
  }
}

// Whether a fence message orders accesses beyond the thread group, and whether it invalidates the L1 cache.
caches::Fence fence_of(uint32_t descriptor) {
  enum Scope { ThreadGroup, Local, Tile };
  enum Flush { None, Evict, Invalidate, Discard, Clean, FlushL3 };
  const uint32_t flush = descriptor >> 12 & 7;
  return {(descriptor >> 9 & 7) >= Tile, flush == Evict || flush == Invalidate || flush == Discard};
}

}  // namespace

void cached_load_store(Thread& t, const Instruction& i, const MemoryMessage& m, const Target& target, uint32_t mask) {
  const bool store = lsc::is_store(m.opcode);
  const std::lock_guard<std::mutex> lock(t.group->l1->lock());
  all_lanes({t, m, target, store, t.group->l1->next_message()}, i, mask);
  if (store) {
    ++t.group->changes;
    return;
  }
  const int first = m.transposed ? 0 : __builtin_ctz(mask);
  const uint8_t* loaded = t.registers + i.send.destination + first * m.register_bytes;
  t.note_load(address_of(t, i, m, target, first), loaded, m.register_bytes);
}

void cached_element(Thread& t, char* place, uint8_t* lane, int bytes, bool store) {
  caches::Core& core = *t.group->l1;
  const std::lock_guard<std::mutex> lock(core.lock());
  if (store) core.store(place, lane, bytes, storer_of(t), core.next_message(), true);
  else core.load(place, lane, bytes, true);
}

void cached_prefetch(Thread& t, const Instruction& i, const MemoryMessage& m, uint32_t mask) {
  const Target target = target_of(t, i, m);
  const std::lock_guard<std::mutex> lock(t.group->l1->lock());
  for (uint32_t left = m.transposed ? 1 : mask; left; left &= left - 1)
    if (const char* place = t.group->memory->find(address_of(t, i, m, target, __builtin_ctz(left)), 1, Access::Read))
      t.group->l1->prefetch(place);
}

void cached_fence(Thread& t, const Instruction& i) {
  const std::lock_guard<std::mutex> lock(t.group->l1->lock());
  t.group->l1->fence(storer_of(t), fence_of(i.send.descriptor));
}

}  // namespace ishmem_emulator::eu
