#include "registers.hpp"

#include "../report.hpp"
#include "context.hpp"

namespace ishmem_emulator {

static const uint32_t firstGeneral = 0x2600, lastGeneral = 0x267c, timestampLow = 0x2358, timestampHigh = 0x235c;

// The time for which the context has been on its engine, which it never leaves here.
static const uint32_t contextTimestampLow = 0x23a8, contextTimestampHigh = 0x23ac;

// Preemption and other behaviour of the engine that has no counterpart here.
static const uint32_t chicken = 0x2580;

static bool isKnown(uint32_t offset) {
  const bool general = offset >= firstGeneral && offset <= lastGeneral;
  return general || offset == predicateResult || offset == predicateResult1 || offset == predicateResult2 ||
         offset == chicken;
}

static void check(uint32_t offset) {
  if (!isKnown(offset)) throw CommandError(formatted("register 0x%x is unknown", offset));
}

uint32_t Registers::read(uint32_t offset) const {
  if (offset == timestampLow || offset == contextTimestampLow) return (uint32_t)timestamp();
  if (offset == timestampHigh || offset == contextTimestampHigh) return (uint32_t)(timestamp() >> 32);
  check(offset);
  auto found = values_.find(offset);
  return found == values_.end() ? 0 : found->second;
}

void Registers::write(uint32_t offset, uint32_t value) {
  check(offset);
  values_[offset] = value;
}

uint64_t Registers::general(unsigned number) const {
  return read(firstGeneral + 8 * number) | (uint64_t)read(firstGeneral + 8 * number + 4) << 32;
}

void Registers::setGeneral(unsigned number, uint64_t value) {
  write(firstGeneral + 8 * number, (uint32_t)value);
  write(firstGeneral + 8 * number + 4, (uint32_t)(value >> 32));
}

}  // namespace ishmem_emulator
