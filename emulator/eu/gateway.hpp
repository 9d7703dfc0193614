#pragma once

#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {

Execute gateway_message(const Instruction&);
void end_thread(Thread&);

}  // namespace ishmem_emulator::eu
