#include "memory_message.hpp"

#include <atomic>
#include <cstdio>

namespace ishmem_emulator::eu {
namespace {

int kind_of(const Target& target, bool store, bool block) {
  switch (target.kind) {
    case Target::Local: return store ? kSlmStore : kSlmLoad;
    case Target::Scratch: return store ? kScratchStore : kScratchLoad;
    default: return store ? (block ? kBlockStore : kStore) : (block ? kBlockLoad : kLoad);
  }
}

// Elements are read and written whole where they are aligned: other processes see no halves.
template <class T>
T read_element(const char* from) {
  if (reinterpret_cast<uintptr_t>(from) % sizeof(T) == 0)
    return __atomic_load_n(reinterpret_cast<const T*>(from), __ATOMIC_RELAXED);
  T value;
  memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write_element(char* to, T value) {
  if (reinterpret_cast<uintptr_t>(to) % sizeof(T) == 0)
    __atomic_store_n(reinterpret_cast<T*>(to), value, __ATOMIC_RELAXED);
  else
    memcpy(to, &value, sizeof value);
}

template <class T>
void copy_elements(char* to, const char* from, int n) {
  for (int k = 0; k < n; ++k)
    write_element<T>(to + k * sizeof(T), read_element<T>(from + k * sizeof(T)));
}

void copy_block(char* to, const char* from, int n, int element_bytes) {
  switch (element_bytes) {
    case 1: return copy_elements<uint8_t>(to, from, n);
    case 2: return copy_elements<uint16_t>(to, from, n);
    case 4: return copy_elements<uint32_t>(to, from, n);
    default: return copy_elements<uint64_t>(to, from, n);
  }
}

// One address, and the elements of the registers in a row.
void transposed(Thread& t, const Instruction& i, const MemoryMessage& m, const Target& target) {
  const bool store = lsc::is_store(m.opcode);
  const int bytes = m.elements * m.element_bytes;
  const uint64_t address = address_of(t, i, m, target, 0);
  char* place = target.find(t, address, bytes, store ? Access::Write : Access::Read);
  char* file = reinterpret_cast<char*>(t.registers);
  if (store) {
    copy_block(place, file + i.send.data, m.elements, m.element_bytes);
    ++t.group->changes;
  } else {
    copy_block(file + i.send.destination, place, m.elements, m.element_bytes);
    t.note_load(address, file + i.send.destination, m.element_bytes);
  }
}

// The addresses of lanes, and the memory that holds them all, if one piece that is known does.
struct Lanes {
  const Target& target;
  uint32_t mask;
  int bytes_per_component;
  uint64_t addresses[32];
  uint64_t lowest = UINT64_MAX;
  char* window = nullptr;

  Lanes(Thread& t, const Instruction& i, const MemoryMessage& m, const Target& where, uint32_t enabled_lanes)
      : target(where), mask(enabled_lanes), bytes_per_component(component_bytes(i, m)) {
    uint64_t highest = 0;
    for (uint32_t left = mask; left; left &= left - 1) {
      const int k = __builtin_ctz(left);
      addresses[k] = address_of(t, i, m, target, k);
      lowest = addresses[k] < lowest ? addresses[k] : lowest;
      highest = addresses[k] > highest ? addresses[k] : highest;
    }
    const Access access = lsc::is_store(m.opcode) ? Access::Write : Access::Read;
    window = target.known(t, lowest, highest - lowest + m.elements * m.element_bytes, access);
  }
  char* place(Thread& t, int lane, int inside, int bytes, Access access) const {
    const uint64_t address = addresses[lane] + inside;
    return window ? window + (address - lowest) : target.find(t, address, bytes, access);
  }
};

// Memory elements of type M, lanes of type R.
template <class M, class R>
void load_lanes(Thread& t, const Instruction& i, const MemoryMessage& m, const Lanes& lanes) {
  char* to = reinterpret_cast<char*>(t.registers) + i.send.destination;
  for (int e = 0; e < m.elements; ++e) {
    if (!(m.components >> e & 1)) continue;
    for (uint32_t left = lanes.mask; left; left &= left - 1) {
      const int k = __builtin_ctz(left);
      R value = read_element<M>(lanes.place(t, k, e * sizeof(M), sizeof(M), Access::Read));
      if (m.upper_half) value <<= 8 * (sizeof(R) - sizeof(M)) & 31;
      memcpy(to + k * sizeof(R), &value, sizeof value);
    }
    to += lanes.bytes_per_component;
  }
}

template <class M, class R>
void store_lanes(Thread& t, const Instruction& i, const MemoryMessage& m, const Lanes& lanes) {
  const char* from = reinterpret_cast<const char*>(t.registers) + i.send.data;
  for (int e = 0; e < m.elements; ++e) {
    if (!(m.components >> e & 1)) continue;
    for (uint32_t left = lanes.mask; left; left &= left - 1) {
      const int k = __builtin_ctz(left);
      R value;
      memcpy(&value, from + k * sizeof(R), sizeof value);
      if (m.upper_half) value >>= 8 * (sizeof(R) - sizeof(M)) & 31;
      write_element<M>(lanes.place(t, k, e * sizeof(M), sizeof(M), Access::Write), static_cast<M>(value));
    }
    from += lanes.bytes_per_component;
  }
}

template <class M, class R>
void load_or_store(Thread& t, const Instruction& i, const MemoryMessage& m, const Lanes& lanes) {
  if (lsc::is_store(m.opcode)) store_lanes<M, R>(t, i, m, lanes);
  else load_lanes<M, R>(t, i, m, lanes);
}

void scattered(Thread& t, const Instruction& i, const MemoryMessage& m, const Target& target, uint32_t mask) {
  const Lanes lanes(t, i, m, target, mask);
  switch (m.element_bytes << 4 | m.register_bytes) {
    case 0x11: load_or_store<uint8_t, uint8_t>(t, i, m, lanes); break;
    case 0x22: load_or_store<uint16_t, uint16_t>(t, i, m, lanes); break;
    case 0x44: load_or_store<uint32_t, uint32_t>(t, i, m, lanes); break;
    case 0x88: load_or_store<uint64_t, uint64_t>(t, i, m, lanes); break;
    case 0x14: load_or_store<uint8_t, uint32_t>(t, i, m, lanes); break;
    default: load_or_store<uint16_t, uint32_t>(t, i, m, lanes); break;
  }
  if (lsc::is_store(m.opcode)) {
    ++t.group->changes;
    return;
  }
  const int first = __builtin_ctz(mask);
  t.note_load(lanes.addresses[first], t.registers + i.send.destination + first * m.register_bytes, m.register_bytes);
}

void load_store(Thread& t, const Instruction& i, const MemoryMessage& m, uint32_t mask) {
  const bool store = lsc::is_store(m.opcode);
  if (!store && i.send.destination < 0) {
    ++t.group->counts.messages[kPrefetch];
    if (t.group->l1) cached_prefetch(t, i, m, mask);
    return;
  }
  const Target target = target_of(t, i, m);
  ++t.group->counts.messages[kind_of(target, store, m.transposed)];
  if (t.group->l1 && target.kind == Target::Global) return cached_load_store(t, i, m, target, mask);
  if (m.transposed) return transposed(t, i, m, target);
  scattered(t, i, m, target, mask);
}

void fence(Thread& t, const Instruction& i) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool local = i.send.unit == Unit::Slm;
  ++t.group->counts.messages[local ? kSlmFence : kFence];
  if (t.group->l1 && !local) cached_fence(t, i);
}

std::string hexadecimal(uint64_t value) {
  char text[24];
  snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void execute_message(Thread& t, const Instruction& i, const MemoryMessage& m) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  switch (m.opcode) {
    case lsc::Load:
    case lsc::LoadComponents:
    case lsc::Store:
    case lsc::StoreComponents: return load_store(t, i, m, mask);
    case lsc::LoadBlock:
    case lsc::StoreBlock: return block_message(t, i, m);
    case lsc::Fence: return fence(t, i);
    default:
      if (lsc::is_atomic(m.opcode)) return atomic_message(t, i, m, mask);
      throw Failure("operation " + hexadecimal(m.opcode) + " of a message to memory is not known");
  }
}

void known_message(Thread& t, const Instruction& i) { execute_message(t, i, i.send.memory); }

// A descriptor is in an address register.
void indirect_message(Thread& t, const Instruction& i) {
  uint32_t descriptor = i.send.descriptor, extended = i.send.extended;
  if (i.send.descriptor_register >= 0) descriptor = t.word(place::kAddress + 4 * i.send.descriptor_register);
  if (i.send.extended_register >= 0) extended = t.word(place::kAddress + 4 * i.send.extended_register);
  MemoryMessage m = decode_message(descriptor, extended);
  // A surface state's handle is in the register, and the offset in the instruction.
  if (i.send.extended_register >= 0 && (m.surface == 1 || m.surface == 2)) m.offset = i.send.memory.offset;
  execute_message(t, i, m);
}

}  // namespace

MemoryMessage decode_message(uint32_t descriptor, uint32_t extended) {
  MemoryMessage m;
  m.opcode = descriptor & 63;
  m.address_bytes = (descriptor >> 7 & 3) == 3 ? 8 : (descriptor >> 7 & 3) == 2 ? 4 : 2;
  static const uint8_t element[] = {1, 2, 4, 8, 1, 2, 2, 4}, in_register[] = {1, 2, 4, 8, 4, 4, 4, 4};
  const int size = descriptor >> 9 & 7;
  m.element_bytes = element[size];
  m.register_bytes = in_register[size];
  m.upper_half = size == 6;
  const bool components = m.opcode == lsc::LoadComponents || m.opcode == lsc::StoreComponents;
  static const uint8_t elements[] = {1, 2, 3, 4, 8, 16, 32, 64};
  m.elements = components ? 4 : elements[descriptor >> 12 & 7];
  m.components = components ? descriptor >> 12 & 15 : 0xff;
  m.transposed = !components && (descriptor >> 15 & 1);
  m.surface = descriptor >> 29 & 3;
  const uint32_t cache_control = descriptor >> 17 & 7;  // on Xe2 with one bit more, which is about the L3 cache
  m.cached = cache_control != 1 && cache_control != 2;
  const int32_t word = static_cast<int32_t>(extended);
  if (m.surface == 0) m.offset = word >> 12;
  if (m.surface == 3) m.offset = static_cast<int32_t>(extended << 8) >> 20;
  return m;
}

void fail_address(const char* space, uint64_t address, uint64_t bytes, Access access) {
  const char* what = access == Access::Read ? "load" : access == Access::Write ? "store" : "atomic";
  throw Failure(std::string("page fault: ") + what + " of " + std::to_string(bytes) + " bytes at " + space +
                " address " + hexadecimal(address));
}

char* Target::find(Thread& t, uint64_t address, uint64_t bytes, Access access) const {
  if (kind == Global) {
    if (char* host = t.group->memory->find(address, bytes, access)) return host;
    fail_address("GPU", address, bytes, access);
  }
  if (kind == Scratch && t.scratch.empty()) t.scratch.resize(t.group->walker->scratch_bytes_per_thread);
  if (char* host = known(t, address, bytes, access)) return host;
  fail_address(kind == Local ? "SLM" : "scratch", address, bytes, access);
}

// The compiler sets bit 28 in local addresses, so that none looks like a null pointer. The card does not look at it.
char* Target::known(Thread& t, uint64_t address, uint64_t bytes, Access access) const {
  constexpr uint64_t kNotNull = 1u << 28;
  if (kind == Global) return t.group->memory->find_recent(address, bytes, access);
  if (kind == Local) address &= ~kNotNull;
  std::vector<char>& memory = kind == Local ? t.group->slm : t.scratch;
  return address <= memory.size() && bytes <= memory.size() - address ? memory.data() + address : nullptr;
}

// A surface state is that of the scratch space; of the binding table, entry 255 is stateless memory.
Target target_of(const Thread& t, const Instruction& i, const MemoryMessage& m) {
  if (i.send.unit == Unit::Slm) return {Target::Local, 0};
  if (m.surface == 1 || m.surface == 2) return {Target::Scratch, 0};
  if (m.surface != 3) return {Target::Global, 0};
  if (i.send.extended_register < 0 && i.send.extended >> 24 != 255)
    throw Failure("entry " + std::to_string(i.send.extended >> 24) + " of the binding table: only 255 is known");
  return {Target::Global, t.group->walker->general_state_base};
}

uint64_t address_of(const Thread& t, const Instruction& i, const MemoryMessage& m, const Target& target, int lane) {
  const uint8_t* payload = t.registers + i.send.address;
  const auto offset = static_cast<uint64_t>(static_cast<int64_t>(m.offset));
  if (m.address_bytes == 8) return target.base + reinterpret_cast<const uint64_t*>(payload)[lane] + offset;
  if (m.address_bytes == 4)
    return target.base + static_cast<uint32_t>(reinterpret_cast<const uint32_t*>(payload)[lane] + offset);
  return target.base + reinterpret_cast<const uint16_t*>(payload)[lane] + offset;
}

Execute memory_message(const Instruction& i) {
  if (i.send.address < 0) return nullptr;
  const bool indirect = i.send.descriptor_register >= 0 || i.send.extended_register >= 0;
  return indirect ? indirect_message : known_message;
}

}  // namespace ishmem_emulator::eu
