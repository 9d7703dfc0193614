// mov: the conversion is in how the lanes are read and written.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

struct Same {
  template <class C>
  static C apply(C a, C, C, uint32_t) { return a; }
};

// Without conversion or mask: bytes.
template <int Bytes>
void copy_lanes(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (mask != i.lane_mask) {
    if (mask) i.put(t, i, base_of(t, i.source[0]), mask);
    return;
  }
  uint8_t lanes[Bytes];
  memcpy(lanes, base_of(t, i.source[0]), Bytes);
  memcpy(t.registers + i.destination.offset, lanes, Bytes);
}

Execute copy_of(int bytes) {
  switch (bytes) {
    case 4: return copy_lanes<4>;
    case 8: return copy_lanes<8>;
    case 64: return copy_lanes<64>;
    case 128: return copy_lanes<128>;
    default: return nullptr;
  }
}

bool is_copy(const Instruction& i) {
  const Operand& d = i.destination;
  const bool contiguous = d.region == Region::Packed || (d.region == Region::Scalar && i.size == 1);
  return i.plain && i.source[0].direct && contiguous && d.file == File::General &&
         size_of(d.type) == size_of(i.source[0].type) && is_float(d.type) == is_float(i.source[0].type);
}

}  // namespace

Execute move_operation(const Instruction& i) {
  if (i.op != Op::Mov) return nullptr;
  if (is_copy(i))
    if (const Execute copy = copy_of(i.size * size_of(i.destination.type))) return copy;
  switch (i.lanes_class) {
    case Class::S32:
    case Class::U32: return for_size<Same, uint32_t, 1>(i.size);
    case Class::S64: return for_size<Same, int64_t, 1>(i.size);
    case Class::U64: return for_size<Same, uint64_t, 1>(i.size);
    case Class::S128: return each_lane<Same, Wide, 32, 1>;
    case Class::F32: return for_size<Same, float, 1>(i.size);
    case Class::F64: return for_size<Same, double, 1>(i.size);
  }
  return nullptr;
}

}  // namespace ishmem_emulator::eu
