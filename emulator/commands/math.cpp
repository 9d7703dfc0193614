// MI_MATH: the command streamer's arithmetic unit.
#include "packets.hpp"

namespace ishmem_emulator {

namespace {

enum Operand : unsigned { SrcA = 0x20, SrcB = 0x21, Accumulator = 0x31, ZeroFlag = 0x32, CarryFlag = 0x33 };

class Arithmetic {
 public:
  Arithmetic(Streamer &streamer, const Packet &packet)
      : registers_(streamer.registers), context_(streamer.context), packet_(packet) {}

  void execute(uint32_t instruction);

 private:
  uint64_t value(unsigned operand) const;
  void load(unsigned into, uint64_t value);
  void store(unsigned into, uint64_t value);
  void fetch(unsigned into, uint64_t value) { into < 16 ? store(into, value) : load(into, value); }
  void result(uint64_t value, bool carry);

  Registers &registers_;
  Context &context_;
  const Packet &packet_;
  uint64_t a_ = 0, b_ = 0, accumulator_ = 0;
  bool zero_ = false, carry_ = false;
};

// Flags are read as all bits set, or none.
uint64_t Arithmetic::value(unsigned operand) const {
  switch (operand) {
    case Accumulator: return accumulator_;
    case ZeroFlag: return zero_ ? ~0ull : 0;
    case CarryFlag: return carry_ ? ~0ull : 0;
  }
  if (operand >= 16) unsupported(packet_, "this operand");
  return registers_.general(operand);
}

void Arithmetic::load(unsigned into, uint64_t value) {
  if (into == SrcA) a_ = value;
  else if (into == SrcB) b_ = value;
  else unsupported(packet_, "a load into this operand");
}

void Arithmetic::store(unsigned into, uint64_t value) {
  if (into >= 16) unsupported(packet_, "a store into this operand");
  registers_.setGeneral(into, value);
}

void Arithmetic::result(uint64_t value, bool carry) {
  accumulator_ = value;
  zero_ = value == 0;
  carry_ = carry;
}

void Arithmetic::execute(uint32_t instruction) {
  const unsigned opcode = instruction >> 20, first = instruction >> 10 & 0x3ff, second = instruction & 0x3ff;
  switch (opcode) {
    case 0x000: return;
    case 0x001:
    case 0x002: return;  // fences of reads and of writes: each access is complete before the next one
    case 0x080: return load(first, value(second));
    case 0x082: return fetch(first, context_.load64(value(second)));
    case 0x480: return load(first, ~value(second));
    case 0x081: return load(first, 0);
    case 0x481: return load(first, ~0ull);
    case 0x100: return result(a_ + b_, a_ + b_ < a_);
    case 0x101: return result(a_ - b_, a_ < b_);
    case 0x102: return result(a_ & b_, false);
    case 0x103: return result(a_ | b_, false);
    case 0x104: return result(a_ ^ b_, false);
    case 0x105: return result(a_ << (b_ & 63), false);
    case 0x106: return result(a_ >> (b_ & 63), false);
    case 0x180: return store(first, value(second));
    case 0x181: return context_.store64(value(first), value(second));
    case 0x580: return store(first, ~value(second));
  }
  unsupported(packet_, "this arithmetic instruction");
}

}  // namespace

void miMath(Streamer &streamer, const Packet &packet) {
  Arithmetic unit(streamer, packet);
  for (size_t word = 1; word < packet.words.size(); ++word) unit.execute(packet[word]);
}

}  // namespace ishmem_emulator
