// Where the channels of a thread continue: the active ones at the next instruction, each other one where it waits.
#pragma once

#include "lanes.hpp"

namespace ishmem_emulator::eu {

inline uint32_t channels_of(const Instruction& i) { return i.lane_mask << i.channel; }

void wait_at(Thread&, uint32_t channels, int32_t place);
// Channels that wait at a place become active.
void join_waiting(Thread&, int32_t place);
// The active channels go on at another instruction, together with those that wait there.
void go_to(Thread&, int32_t target);

}  // namespace ishmem_emulator::eu
