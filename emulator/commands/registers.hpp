// Registers of an engine that commands reach.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace ishmem_emulator {

class Registers {
 public:
  // Offsets are those of commands, which the engine remaps to its own: 0x2000 is its base. Throw CommandError for a
  // register that is unknown.
  uint32_t read(uint32_t offset) const;
  void write(uint32_t offset, uint32_t value);

  // General-purpose registers, 64 bits each.
  uint64_t general(unsigned number) const;
  void setGeneral(unsigned number, uint64_t value);

 private:
  std::unordered_map<uint32_t, uint32_t> values_;
};

const uint32_t predicateResult = 0x2418, predicateResult1 = 0x241c, predicateResult2 = 0x23bc;

}  // namespace ishmem_emulator
