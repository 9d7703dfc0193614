// Counts of instructions and messages: with ISHMEM_CARD_COUNT=FILE, a line of JSON for each launch (walker).
#pragma once

#include <string>

#include "thread.hpp"

namespace ishmem_emulator::eu {

// Does nothing if the variable is not set.
void report_counts(const Walker&, uint64_t groups, const Counts&);

}  // namespace ishmem_emulator::eu
