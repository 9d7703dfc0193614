// Atomic messages: atomics of the host, since other processes share the memory.
#include "memory_message.hpp"

namespace ishmem_emulator::eu {
namespace {

template <class U>
auto as_float(U bits) {
  if constexpr (sizeof(U) == 8) return bits_as<double>(bits);
  else if constexpr (sizeof(U) == 4) return bits_as<float>(bits);
  else return to_float(Half{bits});
}
template <class U, class F>
U from_float(F value) {
  if constexpr (sizeof(U) == 2) return to_half(value).bits;
  else return bits_as<U>(value);
}

template <class U>
U float_result(int opcode, U old, U operand, U replacement) {
  const auto a = as_float(old), b = as_float(operand);
  switch (opcode) {
    case lsc::FloatAdd: return from_float<U>(a + b);
    case lsc::FloatSubtract: return from_float<U>(a - b);
    case lsc::FloatMinimum: return b < a || a != a ? operand : old;
    case lsc::FloatMaximum: return b > a || a != a ? operand : old;
    default: return a == b ? replacement : old;
  }
}

template <class U>
U result_of(int opcode, U old, U operand, U replacement) {
  using S = std::make_signed_t<U>;
  const S signed_old = static_cast<S>(old), signed_operand = static_cast<S>(operand);
  switch (opcode) {
    case lsc::Increment: return old + 1;
    case lsc::Decrement: return old - 1;
    case lsc::AtomicLoad: return old;
    case lsc::AtomicStore: return operand;
    case lsc::Add: return old + operand;
    case lsc::Subtract: return old - operand;
    case lsc::SignedMinimum: return signed_operand < signed_old ? operand : old;
    case lsc::SignedMaximum: return signed_operand > signed_old ? operand : old;
    case lsc::Minimum: return operand < old ? operand : old;
    case lsc::Maximum: return operand > old ? operand : old;
    case lsc::CompareExchange: return old == operand ? replacement : old;
    case lsc::And: return old & operand;
    case lsc::Or: return old | operand;
    case lsc::Xor: return old ^ operand;
    default: return float_result(opcode, old, operand, replacement);
  }
}

// The old value. Where the word stays as it is, this is a load: a kernel that waits must not fight for the line.
template <class U>
U update(int opcode, U* word, U operand, U replacement) {
  U old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
  for (;;) {
    const U wanted = result_of(opcode, old, operand, replacement);
    if (wanted == old && opcode != lsc::AtomicStore) return old;
    if (__atomic_compare_exchange_n(word, &old, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return old;
  }
}

// Nobody of the core loads the line between the look at its caches and the update.
template <class U>
U cached_update(Thread& t, int opcode, U* word, U operand, U replacement) {
  const std::lock_guard<std::mutex> lock(t.group->l1->lock());
  t.group->l1->before_atomic(reinterpret_cast<char*>(word), sizeof(U));
  const U old = update(opcode, word, operand, replacement);
  if (result_of(opcode, old, operand, replacement) != old) t.group->l1->has_published(storer_of(t));
  return old;
}

template <class U>
void update_lanes(Thread& t, const Instruction& i, const MemoryMessage& m, uint32_t mask, const Target& target) {
  const int row = component_bytes(i, m);
  const bool two = m.opcode == lsc::CompareExchange || m.opcode == lsc::FloatCompareExchange;
  for (; mask; mask &= mask - 1) {
    const int k = __builtin_ctz(mask), at = k * m.register_bytes;
    const uint64_t address = address_of(t, i, m, target, k);
    if (address % sizeof(U)) throw Failure("an atomic message to an address that is not a multiple of its size");
    char* place = target.find(t, address, sizeof(U), Access::Atomic);
    U operand = 0, replacement = 0;
    if (i.send.data >= 0) {
      memcpy(&operand, t.registers + i.send.data + at, sizeof(U));
      if (two) memcpy(&replacement, t.registers + i.send.data + row + at, sizeof(U));
    }
    const U old = t.group->l1 && target.kind == Target::Global
                      ? cached_update(t, m.opcode, reinterpret_cast<U*>(place), operand, replacement)
                      : update(m.opcode, reinterpret_cast<U*>(place), operand, replacement);
    if (result_of(m.opcode, old, operand, replacement) != old) ++t.group->changes;
    else t.note_load(address, &old, sizeof old);
    if (i.send.destination < 0) continue;
    const uint64_t wide = old;
    memcpy(t.registers + i.send.destination + at, &wide, m.register_bytes);
  }
}

}  // namespace

void atomic_message(Thread& t, const Instruction& i, const MemoryMessage& m, uint32_t mask) {
  if (m.elements != 1 || m.transposed) throw Failure("atomic messages of vectors are not known");
  const Target target = target_of(t, i, m);
  ++t.group->counts.messages[target.kind == Target::Local ? kSlmAtomic : kAtomic];
  switch (m.element_bytes) {
    case 2: return update_lanes<uint16_t>(t, i, m, mask, target);
    case 4: return update_lanes<uint32_t>(t, i, m, mask, target);
    case 8: return update_lanes<uint64_t>(t, i, m, mask, target);
    default: throw Failure("atomic messages of bytes are not known");
  }
}

}  // namespace ishmem_emulator::eu
