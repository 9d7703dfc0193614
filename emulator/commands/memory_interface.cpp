// MI_*: the packets that all engines know.
#include <algorithm>

#include "../report.hpp"
#include "packets.hpp"

namespace ishmem_emulator {

// Comparisons of MI_SEMAPHORE_WAIT and MI_CONDITIONAL_BATCH_BUFFER_END: of memory with the packet's data.
static bool compares(unsigned how, uint32_t memory, uint32_t data, const Packet &packet) {
  switch (how) {
    case 0: return memory > data;
    case 1: return memory >= data;
    case 2: return memory < data;
    case 3: return memory <= data;
    case 4: return memory == data;
    case 5: return memory != data;
  }
  unsupported(packet, "this comparison");
}

// The offset of a register, as `Registers` has it: commands of copy engines give those of the first one.
static uint32_t ownOffset(const Streamer &streamer, uint32_t offset) {
  const uint32_t base = 0x2000, copyBase = 0x22000, size = 0x1000;
  const bool ofCopyEngine = offset >= copyBase && offset < copyBase + size;
  return ofCopyEngine && streamer.context.engine.kind == Copy ? offset - copyBase + base : offset;
}

// In the register packets, which have the offset in a word of its own.
static uint32_t registerAt(const Streamer &streamer, const Packet &packet, size_t word) {
  return ownOffset(streamer, packet[word] & 0x7ffffc);
}

void miBatchBufferEnd(Streamer &streamer, const Packet &) { streamer.endBatch(); }

void miBatchBufferStart(Streamer &streamer, const Packet &packet) {
  const bool predicated = packet.bit(0, 15), indirect = packet.bit(0, 18), secondLevel = packet.bit(0, 22);
  if (predicated && streamer.skips) return;
  const uint64_t target = indirect ? streamer.registers.general(0) & ~3ull : packet.pointer(1);
  if (secondLevel) streamer.call(target);
  else streamer.jump(target);
}

void miConditionalBatchBufferEnd(Streamer &streamer, const Packet &packet) {
  if (packet.bit(0, 19)) unsupported(packet, "a mask");
  if (!compares(packet.bits(0, 12, 14), streamer.context.load32(packet.pointer(2)), packet[1], packet))
    streamer.endBatch();
}

void miSemaphoreWait(Streamer &streamer, const Packet &packet) {
  const bool polls = packet.bit(0, 15), ofRegister = packet.bit(0, 16);
  if (!polls) unsupported(packet, "a wait for a signal");
  const uint64_t where = packet.pointer(2);
  auto value = [&] {
    return ofRegister ? streamer.registers.read(ownOffset(streamer, (uint32_t)where)) : streamer.context.load32(where);
  };
  Pause pause;
  while (!compares(packet.bits(0, 12, 14), value(), packet[1], packet) && !streamer.context.stopped()) pause.once();
}

void miStoreDataImm(Streamer &streamer, const Packet &packet) {
  const bool qword = packet.bit(0, 21);
  if (qword) streamer.context.store64(packet.pointer(1), packet.qword(3));
  else streamer.context.store32(packet.pointer(1), packet[3]);
}

void miLoadRegisterImm(Streamer &streamer, const Packet &packet) {
  for (size_t word = 1; word + 1 < packet.words.size(); word += 2)
    streamer.registers.write(registerAt(streamer, packet, word), packet[word + 1]);
}

void miLoadRegisterMem(Streamer &streamer, const Packet &packet) {
  streamer.registers.write(registerAt(streamer, packet, 1), streamer.context.load32(packet.pointer(2)));
}

void miLoadRegisterReg(Streamer &streamer, const Packet &packet) {
  streamer.registers.write(registerAt(streamer, packet, 2), streamer.registers.read(registerAt(streamer, packet, 1)));
}

void miStoreRegisterMem(Streamer &streamer, const Packet &packet) {
  const bool predicated = packet.bit(0, 21);
  if (predicated && streamer.skips) return;
  streamer.context.store32(packet.pointer(2), streamer.registers.read(registerAt(streamer, packet, 1)));
}

void miCopyMemMem(Streamer &streamer, const Packet &packet) {
  streamer.context.store32(packet.pointer(1), streamer.context.load32(packet.pointer(3)));
}

void miFlushDw(Streamer &streamer, const Packet &packet) {
  postSync(streamer.context, packet, packet.bits(0, 14, 15), packet.qword(1) & ~7ull, 3);
}

void miSetPredicate(Streamer &streamer, const Packet &packet) {
  const Registers &registers = streamer.registers;
  switch (packet.bits(0, 0, 3)) {
    case 0: streamer.skips = false; return;
    case 1: streamer.skips = !(registers.read(predicateResult2) & 1); return;
    case 2: streamer.skips = registers.read(predicateResult2) & 1; return;
    case 3: streamer.skips = !(registers.read(predicateResult) & 1); return;
    case 4: streamer.skips = registers.read(predicateResult) & 1; return;
    case 15: streamer.skips = true; return;
  }
  unsupported(packet, "this predicate");
}

// Applies one of the operations of MI_ATOMIC that have a 32-bit and a 64-bit form. Returns whether it is one.
template <typename Word>
static bool applyAtomic(unsigned operation, Word *memory, Word operand) {
  switch (operation) {
    case 0x1: __atomic_and_fetch(memory, operand, __ATOMIC_SEQ_CST); return true;
    case 0x2: __atomic_or_fetch(memory, operand, __ATOMIC_SEQ_CST); return true;
    case 0x3: __atomic_xor_fetch(memory, operand, __ATOMIC_SEQ_CST); return true;
    case 0x4: __atomic_store_n(memory, operand, __ATOMIC_SEQ_CST); return true;
    case 0x5: __atomic_add_fetch(memory, (Word)1, __ATOMIC_SEQ_CST); return true;
    case 0x6: __atomic_sub_fetch(memory, (Word)1, __ATOMIC_SEQ_CST); return true;
    case 0x7: __atomic_add_fetch(memory, operand, __ATOMIC_SEQ_CST); return true;
    case 0x8: __atomic_sub_fetch(memory, operand, __ATOMIC_SEQ_CST); return true;
  }
  return false;
}

void miAtomic(Streamer &streamer, const Packet &packet) {
  const unsigned operation = packet.bits(0, 8, 15), size = packet.bits(0, 19, 20);
  const bool inlineData = packet.bit(0, 18), returns = packet.bit(0, 16), qword = size == 1;
  const bool withoutOperand = (operation & 0xf) == 0x5 || (operation & 0xf) == 0x6;
  if (returns || size > 1 || operation >> 4 != (qword ? 2u : 0u) || (!inlineData && !withoutOperand))
    unsupported(packet, "this form of the operation");
  const uint64_t operand = !inlineData ? 0 : packet[3] | (qword ? (uint64_t)packet[5] << 32 : 0);
  char *memory = streamer.context.at(packet.pointer(1), qword ? 8 : 4, Access::Atomic);
  const bool done = qword ? applyAtomic(operation & 0xf, (uint64_t *)memory, operand)
                          : applyAtomic(operation & 0xf, (uint32_t *)memory, (uint32_t)operand);
  if (!done) unsupported(packet, "this operation");
}

}  // namespace ishmem_emulator
