// Far addresses: places in the memory of PEs on other nodes, as pointers that no processor accepts.
//
// Bit 62 marks one; below it are the PE and the place in its symmetric memory. So the code that computes addresses is the
// same for all PEs, and what loads, stores or copies asks `is_far` and hands the operation to the engine. A place that
// slips through faults at once instead of reading other memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace ishmem {

constexpr int PE_SHIFT = 44;
constexpr uint64_t FAR = uint64_t{1} << 62;
constexpr uint64_t PLACES = uint64_t{1} << PE_SHIFT;

// Where the parts of a PE's symmetric memory begin; the heap is at 0.
constexpr uint64_t STATICS_AT = uint64_t{1} << 42;  // static objects, one after the other
constexpr uint64_t MIRRORS_AT = uint64_t{1} << 43;  // what members of teams publish, see collectives.cpp
constexpr uint64_t DEPARTURES_AT = MIRRORS_AT + STATICS_AT;  // what PEs say when they leave, see barrier.cpp

// Device addresses of Intel GPUs may have bit 62 set, but then bit 63 is set, too.
inline bool is_far(const void *address) { return reinterpret_cast<uintptr_t>(address) >> 62 == 1; }

inline char *far_address(int pe, uint64_t place) {
    return reinterpret_cast<char *>(FAR | static_cast<uint64_t>(pe) << PE_SHIFT | place);
}

inline int far_pe(const void *address) {
    return static_cast<int>((reinterpret_cast<uintptr_t>(address) & (FAR - 1)) >> PE_SHIFT);
}

inline uint64_t far_place(const void *address) { return reinterpret_cast<uintptr_t>(address) & (PLACES - 1); }

}  // namespace ishmem
