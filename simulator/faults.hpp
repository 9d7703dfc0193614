// The faults that ISHMEM_SIM_FAIL and ISHMEM_SIM_SLOW ask for.
#pragma once

#include "settings.hpp"

namespace simulator {

// Counts one more of these; whether it fails, as all do from a number on. Says so on stderr when it begins.
bool fails(Fault fault);

// What each copy and each launch takes longer than it needs.
void slowDown();

}  // namespace simulator
