// Converts operands as the disassembler library describes them to places in the register file.
#pragma once

#include "iga.hpp"
#include "instruction.hpp"

namespace ishmem_emulator::eu {

// The decoder's view of one instruction.
struct View {
  const Iga& iga;
  const KernelView* kernel;
  int32_t pc;
};

// False: a form that is not known.
bool decode_destination(const View&, Kernel&, Instruction&);
bool decode_source(const View&, Kernel&, Instruction&, int source);
bool decode_matrices(const View&, Kernel&, Instruction&);

}  // namespace ishmem_emulator::eu
