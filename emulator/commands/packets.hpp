// The packets that the cards know, by their first word.
#pragma once

#include <cstdint>

#include "streamer.hpp"

namespace ishmem_emulator {

const unsigned AllEngines = Render | Copy | Compute, KernelEngines = Render | Compute;

struct PacketKind {
  uint32_t mask, value;  // of the first word
  const char *name;
  unsigned engines;
  uint32_t lengthMask;  // the bits of the first word that hold the length, less 2; 0: one word
  void (*execute)(Streamer &, const Packet &);
};

// The kind of a packet. Returns null if it is unknown.
const PacketKind *kindOf(uint32_t firstWord);

// What a card's packet would have to say to be executed otherwise than it is here. Throws CommandError.
[[noreturn]] void unsupported(const Packet &packet, const char *what);

// Writes what a packet asks for when its work is done: nothing, the data that begin at a word, or the timestamp.
void postSync(Context &context, const Packet &packet, unsigned operation, uint64_t address, size_t data);

// Each executes the packet of its name.
#define ISHMEM_PACKETS(packet) \
  packet(miAtomic) packet(miBatchBufferEnd) packet(miBatchBufferStart) packet(miConditionalBatchBufferEnd) \
  packet(miCopyMemMem) packet(miFlushDw) packet(miLoadRegisterImm) packet(miLoadRegisterMem) \
  packet(miLoadRegisterReg) packet(miMath) packet(miSemaphoreWait) packet(miSetPredicate) packet(miStoreDataImm) \
  packet(miStoreRegisterMem) packet(memCopy) packet(memSet) packet(xyBlockCopy) packet(xyFastColor) \
  packet(pipeControl) packet(stateBaseAddress) packet(stateComputeMode) packet(cfeState) packet(computeWalker)
#define ISHMEM_DECLARE(name) void name(Streamer &, const Packet &);
ISHMEM_PACKETS(ISHMEM_DECLARE)
#undef ISHMEM_DECLARE

}  // namespace ishmem_emulator
