// Fault injection by ISHMEM_SIM_FAIL and ISHMEM_SIM_SLOW.
#pragma once

#include "settings.hpp"

namespace simulator {

// Counts a call of this kind and returns whether it fails. All calls fail from the configured number on; the first
// failure is reported on stderr.
bool fails(Fault fault);

// Sleeps for the extra time that ISHMEM_SIM_SLOW adds to each copy and launch.
void slowDown();

}  // namespace simulator
