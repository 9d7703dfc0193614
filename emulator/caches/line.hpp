// A line of the L1 cache of a core: its bytes there, and the stores to it that have not reached the L2 cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ishmem_emulator::caches {

constexpr uint64_t kLineBytes = 64;
constexpr uint64_t kPieceBytes = 16;  // a store within such a block arrives whole

// A hardware thread of a kernel; numbers are unique in the device.
struct Storer {
  uint64_t kernel, group;
  uint32_t thread;

  bool operator==(const Storer& other) const { return group == other.group && thread == other.thread; }
};

// A store, or the part of it that lies in one block.
struct Piece {
  Storer by;
  char* place;  // in the host's memory
  uint32_t bytes;
  uint8_t data[kPieceBytes];
  uint64_t order;     // of stores of a core
  uint64_t message;   // the store's message and lane
  uint64_t due;       // when it arrives, if no fence makes it arrive before
  bool in_group;      // ordered by a fence of group scope: other threads of the group know of it
  bool overtaken;     // the thread has published something since

  bool overlaps(const char* from, uint64_t size) const { return place < from + size && from < place + bytes; }
};

struct Line {
  uint64_t epoch = 0;            // it is in the L1 cache if this is that of the cache
  uint8_t data[kLineBytes];      // as it was when it was loaded, with the core's stores that have arrived since
  std::vector<Piece> pieces;     // in the order in which they were stored
};

}  // namespace ishmem_emulator::caches
