// Packets of the render and compute engines, but for the walker.
#include "../cards/execution_units.hpp"
#include "packets.hpp"

namespace ishmem_emulator {

// The bits that flush or invalidate what the execution units cache: data caches, the state cache excepted.
static bool flushesCaches(const Packet &packet) {
  const uint32_t untypedFlush = 1u << 11, dataPortFlush = 1u << 9, dataCacheFlush = 1u << 5, constantInvalidate = 1u << 3;
  return (packet[0] & (untypedFlush | dataPortFlush)) || (packet[1] & (dataCacheFlush | constantInvalidate));
}

void pipeControl(Streamer &streamer, const Packet &packet) {
  const bool stalls = packet.bit(1, 20);
  if (stalls) streamer.context.waitForKernels();
  if (streamer.context.stopped()) return;
  if (flushesCaches(packet)) unitsOf(streamer.context.engine.card, streamer.context.engine.tile).flush_caches();
  postSync(streamer.context, packet, packet.bits(1, 14, 15), packet.pointer(2), 4);
}

// A base address, if its "modify enable" is set.
static void setBase(const Packet &packet, size_t word, uint64_t &base) {
  if (packet.bit(word, 0)) base = packet.qword(word) & ~0xfffull;
}

void stateBaseAddress(Streamer &streamer, const Packet &packet) {
  setBase(packet, 1, streamer.state.generalBase);
  setBase(packet, 4, streamer.state.surfaceBase);
  setBase(packet, 10, streamer.state.instructionBase);
}

void stateComputeMode(Streamer &streamer, const Packet &packet) {
  const unsigned large = 15, mask = 16;
  if (packet.bit(1, large + mask)) streamer.state.largeGrf = packet.bit(1, large);
}

void cfeState(Streamer &streamer, const Packet &packet) { streamer.state.scratch = packet[1] & ~0x3ffu; }

}  // namespace ishmem_emulator
