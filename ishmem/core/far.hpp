// Far addresses: offsets in the symmetric memory of PEs on other nodes, encoded as non-canonical pointers.
//
// Bit 62 marks a far address; the bits below it hold the PE and the offset. Address arithmetic is therefore the same
// for all PEs. Code that loads, stores or copies checks `is_far` first and hands the operation to the engine. A
// missing check faults at once instead of accessing other memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ishmem {

constexpr int PE_SHIFT = 44;
constexpr uint64_t FAR = uint64_t{1} << 62;
constexpr uint64_t PLACES = uint64_t{1} << PE_SHIFT;

// Where the regions of a PE's symmetric memory begin; the heap is at 0.
constexpr uint64_t STATICS_AT = uint64_t{1} << 42;  // static objects, consecutively
constexpr uint64_t MIRRORS_AT = uint64_t{1} << 43;  // copies of remote members' rings: see collectives.cpp
constexpr uint64_t DEPARTURES_AT = MIRRORS_AT + STATICS_AT;  // departure records of remote PEs: see leave_records.cpp
constexpr uint64_t LANDINGS_AT = DEPARTURES_AT + STATICS_AT / 2;  // what collectives put: see exchange.hpp

// Device addresses of Intel GPUs may have bit 62 set, but then bit 63 is set, too.
inline bool is_far(const void *address) { return reinterpret_cast<uintptr_t>(address) >> 62 == 1; }

inline char *far_address(int pe, uint64_t offset) {
    return reinterpret_cast<char *>(FAR | static_cast<uint64_t>(pe) << PE_SHIFT | offset);
}

inline int far_pe(const void *address) {
    return static_cast<int>((reinterpret_cast<uintptr_t>(address) & (FAR - 1)) >> PE_SHIFT);
}

inline uint64_t far_offset(const void *address) { return reinterpret_cast<uintptr_t>(address) & (PLACES - 1); }

}  // namespace ishmem
