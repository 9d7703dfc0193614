#include "streamer.hpp"

#include "../report.hpp"
#include "packets.hpp"

namespace ishmem_emulator {

static const size_t deepestCall = 8;

static std::string textOf(const Packet &packet) {
  std::string text = packet.name;
  for (uint32_t word : packet.words) text += formatted(" %08x", word);
  return text;
}

Packet Streamer::fetch(uint64_t address) {
  uint32_t first = context.load32(address);
  const PacketKind *kind = kindOf(first);
  if (!kind) throw CommandError(formatted("command 0x%08x is unknown", first));
  Packet packet{kind->name, address, {}};
  size_t length = kind->lengthMask ? (first & kind->lengthMask) + 2 : 1;
  for (size_t word = 0; word < length; ++word) packet.words.push_back(context.load32(address + 4 * word));
  return packet;
}

// Executes the packet at `next_`. `packet` says what it is, once it is fetched.
void Streamer::step(Packet &packet) {
  AddressSpace::Use use(*context.space);
  packet = fetch(next_);
  if (traced(Level::Packets)) trace(Level::Packets, "0x%llx %s", (unsigned long long)next_, textOf(packet).c_str());
  next_ += 4 * packet.words.size();
  const PacketKind &kind = *kindOf(packet[0]);
  if (!(kind.engines & context.engine.kind)) throw CommandError("this engine does not have the command");
  kind.execute(*this, packet);
}

void Streamer::run(uint64_t batch) {
  next_ = batch;
  ended_ = false;
  callers_.clear();
  while (!ended_ && !context.stopped()) {
    Packet packet{"the batch", next_, {}};
    try {
      step(packet);
    } catch (const CommandError &error) {
      throw CommandError(formatted("%s at 0x%llx: %s", packet.name, (unsigned long long)packet.address, error.what()));
    }
  }
}

void Streamer::call(uint64_t address) {
  if (callers_.size() == deepestCall) throw CommandError("batches call each other too deeply");
  callers_.push_back(next_);
  next_ = address;
}

void Streamer::endBatch() {
  if (callers_.empty()) {
    ended_ = true;
    return;
  }
  next_ = callers_.back();
  callers_.pop_back();
}

}  // namespace ishmem_emulator
