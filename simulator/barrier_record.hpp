// What a kernel writes about a barrier of a work-group that a part of its work-items does not reach: a variable of its
// module. See barriers.cpp.
#pragma once

#include <cstdint>
#include <string>

#include "opencl.hpp"

namespace simulator {

static const char *const recordName = "ishmem_simulator_barrier";

enum class Field : uint32_t {
  claimed,   // 1 once a work-item has found a difference
  complete,  // 1 once the other words are set
  number,    // of the barrier, or end, that the last work-item has reached, from which this one would go on
  item,      // this work-item, which has not reached it
  items,     // work-items of the group
  found      // where it has found the difference, a `Found`
};

// Then come the numbers that the work-items have reached last, and the sums over all that they have reached.
static const uint32_t placesAt = 6, sumsAt = placesAt + maxGroupSize, recordWords = sumsAt + maxGroupSize;

enum class Found : uint32_t {
  barrier,  // at a barrier, where it stays
  end,      // at the end, which others have not reached
  sum       // at the end, which all have reached, this work-item with another sum than work-item 0
};

// The kinds of what has a number, in its highest bits.
enum class Reached : uint32_t { barrier = 1, operation, call, end };
static const uint32_t kindShift = 28;

// The number of barriers in a sum: its lower half.
static const uint32_t barriersOfSum = 0xffff;

// Returns whether a kernel has filled the record of its module. Prints the first such record in this process.
bool reportBarrier(const std::string &kernel, const volatile uint32_t *record);

}  // namespace simulator
