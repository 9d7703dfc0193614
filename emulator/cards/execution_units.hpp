// The execution units of each device of this process.
#pragma once

#include "../eu/execution.hpp"

namespace ishmem_emulator {

// Those of a tile. They are made when a kernel is started first, and kept until the process ends.
ExecutionUnits &unitsOf(int card, int tile);

// In the child of a fork, which has none of their threads: others are made.
void forgetUnits();

}  // namespace ishmem_emulator
