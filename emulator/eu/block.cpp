// Two-dimensional blocks of a surface that the message describes. What lies outside of the surface is read as zero, and
// not written. A load may transpose a block, or bring the elements of consecutive rows that fill 32 bits together.
#include <algorithm>

#include "memory_message.hpp"

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kTransform = 1u << 7, kTranspose = 1u << 15;

struct Surface {
  uint64_t base;
  uint32_t width, height, pitch;  // bytes, rows, bytes
  int32_t x, y;                   // of the block, in elements
  uint32_t columns, rows, blocks;
};

// The instruction adds to the place of the block: ten bits each, of columns and of rows.
Surface surface_of(const Thread& t, const Instruction& i, const MemoryMessage& m) {
  uint32_t words[8];
  memcpy(words, t.registers + i.send.address, sizeof words);
  Surface s;
  memcpy(&s.base, words, 8);
  s.width = words[2] + 1, s.height = words[3] + 1, s.pitch = words[4] + 1;
  const int32_t columns = static_cast<int32_t>(static_cast<uint32_t>(m.offset) << 22) >> 22, rows = m.offset >> 10;
  s.x = static_cast<int32_t>(words[5]) + columns, s.y = static_cast<int32_t>(words[6]) + rows;
  s.columns = (words[7] & 0xff) + 1, s.rows = (words[7] >> 8 & 0xff) + 1, s.blocks = (words[7] >> 16 & 15) + 1;
  return s;
}

uint32_t power_of_two(uint32_t value) {
  uint32_t result = 1;
  while (result < value) result *= 2;
  return result;
}

// Where elements of a block are in the registers: bytes from its first one, per row, column and row of a group.
struct Layout {
  uint32_t row, column, group, rows_in_group, block;

  uint32_t place(uint32_t r, uint32_t c) const {
    return r / rows_in_group * row + r % rows_in_group * group + c * column;
  }
};

Layout layout_of(const Surface& s, uint32_t descriptor, uint32_t bytes) {
  if (descriptor & kTranspose) {
    const uint32_t pitch = power_of_two(s.rows) * bytes;
    return {bytes, pitch, 0, 1, pitch * s.columns};
  }
  if (descriptor & kTransform) {
    const uint32_t rows = std::max(1u, 4 / bytes), pitch = power_of_two(s.columns) * 4;
    return {pitch, 4, bytes, rows, (s.rows + rows - 1) / rows * pitch};
  }
  const uint32_t pitch = power_of_two(s.columns * bytes);
  return {pitch, bytes, 0, 1, pitch * s.rows};
}

void move_element(Thread& t, const Surface& s, uint8_t* lane, int64_t x, int64_t y, int bytes, bool store) {
  if (x < 0 || x + bytes > s.width || y < 0 || y >= s.height) {
    if (!store) memset(lane, 0, bytes);
    return;
  }
  const Target memory{Target::Global, 0};
  char* place = memory.find(t, s.base + y * s.pitch + x, bytes, store ? Access::Write : Access::Read);
  if (t.group->l1) return cached_element(t, place, lane, bytes, store);
  if (store) memcpy(place, lane, bytes);
  else memcpy(lane, place, bytes);
}

}  // namespace

void block_message(Thread& t, const Instruction& i, const MemoryMessage& m) {
  const bool store = m.opcode == lsc::StoreBlock;
  if (!store && i.send.destination < 0) {
    ++t.group->counts.messages[kPrefetch];
    return;
  }
  ++t.group->counts.messages[store ? kBlockStore : kBlockLoad];
  const int bytes = m.element_bytes;
  const Surface s = surface_of(t, i, m);
  const Layout layout = layout_of(s, i.send.descriptor, bytes);
  const uint32_t block_bytes = (layout.block + 63) / 64 * 64;
  uint8_t* registers = t.registers + (store ? i.send.data : i.send.destination);
  if (registers + s.blocks * block_bytes > t.registers + place::kGeneralBytes) throw Failure("the block is too large");
  for (uint32_t block = 0; block < s.blocks; ++block)
    for (uint32_t row = 0; row < s.rows; ++row)
      for (uint32_t column = 0; column < s.columns; ++column)
        move_element(t, s, registers + block * block_bytes + layout.place(row, column),
                     (int64_t(s.x) + block * s.columns + column) * bytes, int64_t(s.y) + row, bytes, store);
  if (store) ++t.group->changes;
}

}  // namespace ishmem_emulator::eu
