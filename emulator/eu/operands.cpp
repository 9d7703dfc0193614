#include "operands.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace ishmem_emulator::eu {
namespace {

// The library's numbers of types, of which these exist for registers.
enum : uint32_t { kByteUnsigned = 6, kByte, kWordUnsigned, kWord, kDoubleUnsigned, kDouble, kQuadUnsigned, kQuad, kHalf,
                  kBrainFloat = 16, kTensorFloat = 19, kFloat, kDoubleFloat, kVector = 23, kVectorUnsigned, kVectorFloat };

Type type_of(uint32_t number) {
  switch (number) {
    case kByteUnsigned: return Type::UB;
    case kByte: return Type::B;
    case kWordUnsigned: return Type::UW;
    case kWord: return Type::W;
    case kDoubleUnsigned: return Type::UD;
    case kDouble: return Type::D;
    case kQuadUnsigned: return Type::UQ;
    case kQuad: return Type::Q;
    case kHalf: return Type::HF;
    case kBrainFloat: return Type::BF;
    case kFloat: return Type::F;
    case kDoubleFloat: return Type::DF;
    default: return Type::None;
  }
}

struct Room {
  File file;
  int first, bytes, register_bytes;
};

const Room* room_of(uint32_t name) {
  using namespace place;
  static const Room general{File::General, kGeneral, kGeneralBytes, kRegister};
  static const Room accumulators{File::Accumulator, kAccumulators, kAccumulatorBytes, kRegister};
  static const Room address{File::Address, kAddress, kAddressBytes, kAddressBytes};
  static const Room flags{File::Flag, kFlags, kFlagBytes, 4};
  static const Room control{File::Control, kControl, kControlBytes, kControlBytes};
  static const Room state{File::State, kState, kStateBytes, kStateBytes};
  static const Room message{File::Message, kMessage, kMessageBytes, kMessageBytes};
  static const Room timestamp{File::Timestamp, kTimestamp, kTimestampBytes, kTimestampBytes};
  static const Room enable{File::ChannelEnable, kChannelEnable, 16, 16};
  static const Room pointer{File::Pointer, kPointer, 16, 16};
  switch (name) {
    case iga::General: return &general;
    case iga::Accumulator: return &accumulators;
    case iga::Address: return &address;
    case iga::Flag: return &flags;
    case iga::Control: return &control;
    case iga::State: return &state;
    case iga::Message: return &message;
    case iga::Timestamp: return &timestamp;
    case iga::ChannelEnable: return &enable;
    case iga::InstructionPointer: return &pointer;
    default: return nullptr;
  }
}

// Where a register begins. A flag's number of a sub-register counts words of 16 bits, in whatever type it is used.
bool set_place(Operand& o, uint32_t name, int number, int sub) {
  const Room* room = room_of(name);
  if (!room || number < 0) return false;
  o.file = room->file;
  const int unit = o.file == File::Flag ? 2 : size_of(o.type);
  const int inside = number * room->register_bytes + (sub < 0 ? 0 : sub) * unit;
  o.offset = static_cast<uint32_t>(room->first + inside);
  return inside >= 0 && inside < room->bytes;
}

bool set_indirect(Operand& o, int sub, int16_t offset) {
  o.file = File::General;
  o.indirect = true;
  o.offset = static_cast<uint32_t>(place::kAddress + 2 * sub);
  o.address_offset = offset;
  o.region = Region::Table;
  return sub >= 0 && 2 * sub < place::kAddressBytes;
}

int lane_place(const Operand& o, int lane) {
  const int width = o.width ? o.width : 1;
  return (lane / width * o.vertical + lane % width * o.horizontal) * size_of(o.type);
}

// The form of a direct operand's region, and whether its lanes are inside of the registers.
bool set_region(Operand& o, Kernel& kernel) {
  const int size = size_of(o.type), step = o.lanes > 1 ? lane_place(o, 1) : 0;
  bool regular = true;
  int last = 0;
  for (int k = 0; k < o.lanes; ++k) {
    regular &= lane_place(o, k) == k * step;
    last = std::max(last, lane_place(o, k));
  }
  const int limit = o.file == File::General ? place::kGeneralBytes : place::kEnd;
  if (static_cast<int>(o.offset) + last + size > limit) return false;
  o.stride = step;
  o.region = !regular ? Region::Table : step == 0 ? Region::Scalar : step == size ? Region::Packed : Region::Strided;
  if (regular) return true;
  auto& table = kernel.tables.emplace_back(32);
  for (int k = 0; k < o.lanes; ++k) table[k] = static_cast<uint16_t>(lane_place(o, k));
  o.table = table.data();
  return true;
}

// Eight integers of four bits, repeated, or four floats of eight.
template <class T, class Lane>
void fill_vector(Operand& o, std::vector<uint64_t>& to, Lane lane) {
  T* lanes = reinterpret_cast<T*>(to.data());
  for (int k = 0; k < 32; ++k) lanes[k] = lane(k);
  o.region = Region::Packed;
}

float restricted_float(uint8_t bits) {
  const float magnitude = bits & 0x7f ? std::ldexp(1 + (bits & 15) / 16.0f, (bits >> 4 & 7) - 3) : 0;
  return bits & 0x80 ? -magnitude : magnitude;
}

bool set_immediate(Operand& o, Kernel& kernel, uint32_t type, uint64_t bits) {
  auto& lanes = kernel.constants.emplace_back(32, bits);
  o.file = File::Immediate;
  o.bits = bits;
  o.constant = lanes.data();
  o.region = Region::Scalar;
  switch (type) {
    case kVector:
      o.type = Type::W;
      fill_vector<int16_t>(o, lanes, [&](int k) { return static_cast<int16_t>(bits << (60 - 4 * (k & 7)) >> 48) >> 12; });
      return true;
    case kVectorUnsigned:
      o.type = Type::UW;
      fill_vector<uint16_t>(o, lanes, [&](int k) { return bits >> 4 * (k & 7) & 15; });
      return true;
    case kVectorFloat:
      o.type = Type::F;
      fill_vector<float>(o, lanes, [&](int k) { return restricted_float(static_cast<uint8_t>(bits >> 8 * (k & 3))); });
      return true;
    default:
      o.type = type_of(type);
      return o.type != Type::None;
  }
}

bool is_ternary(const Instruction& i) { return i.sources == 3; }

// What the library leaves out of a region of three sources: the width, which vertical and horizontal strides imply.
void set_strides(Operand& o, const Instruction& i, int source, uint32_t v, uint32_t w, uint32_t h) {
  o.vertical = static_cast<int16_t>(v), o.width = static_cast<int16_t>(w), o.horizontal = static_cast<int16_t>(h);
  if (!is_ternary(i)) return;
  if (source == 2) o.vertical = 0, o.width = 32;
  else if (h == 0) o.width = 1;
  else o.width = v == 0 ? 32 : static_cast<int16_t>(v / h);
}

bool decode_region(const View& view, Kernel& kernel, Instruction& i, Operand& o, int source) {
  uint32_t v = 0, w = 1, h = 0;
  const bool known = view.iga.source_region(view.kernel, view.pc, source, &v, &w, &h) == 0;
  if (known) {
    set_strides(o, i, source, v, w, h);
  } else if (view.iga.source_is_vector(view.kernel, view.pc, source) == 1) {
    if (o.file != File::Address) return false;  // whose lanes are beside each other
    o.vertical = 1, o.width = 1, o.horizontal = 0;
  }
  if (!o.indirect) return set_region(o, kernel);
  o.per_lane = v == iga::kPerLaneAddress;
  return o.width > 0;
}

Modifier modifier_of(const Instruction& i, uint32_t number) {
  const bool logic = i.op == Op::And || i.op == Op::Or || i.op == Op::Xor || i.op == Op::Not || i.op == Op::Bfn;
  if (logic && number == 2) return Modifier::Complement;
  return static_cast<Modifier>(number);
}

}  // namespace

bool decode_source(const View& view, Kernel& kernel, Instruction& i, int source) {
  Operand& o = i.source[source];
  const uint32_t kind = view.iga.source_kind(view.kernel, view.pc, source);
  const uint32_t type = view.iga.source_type(view.kernel, view.pc, source);
  o.lanes = i.size;
  o.type = type_of(type);
  if (kind == iga::Immediate) {
    uint64_t bits = 0;
    return view.iga.source_immediate(view.kernel, view.pc, source, &bits) == 0 && set_immediate(o, kernel, type, bits);
  }
  o.modifier = modifier_of(i, view.iga.source_modifier(view.kernel, view.pc, source));
  const int number = view.iga.source_register(view.kernel, view.pc, source);
  const int sub = view.iga.source_sub_register(view.kernel, view.pc, source);
  const uint32_t name = view.iga.source_name(view.kernel, view.pc, source);
  if (kind == iga::Indirect) {
    int16_t offset = 0;
    view.iga.source_offset(view.kernel, view.pc, source, &offset);
    return set_indirect(o, sub, offset) && decode_region(view, kernel, i, o, source);
  }
  if (name == iga::Null) {
    o.offset = place::kZeros;
    return true;
  }
  if (!set_place(o, name, number, sub)) return false;
  if (kind != iga::Macro) return decode_region(view, kernel, i, o, source);
  int16_t macro = 8;
  view.iga.source_macro(view.kernel, view.pc, source, &macro);
  o.macro = static_cast<int8_t>(macro);
  o.vertical = 1;
  return macro >= 0 && set_region(o, kernel);
}

// Of matrices the library tells where they begin. Where floats of 32 bits are multiplied, they are tensor floats.
bool decode_matrices(const View& view, Kernel& kernel, Instruction& i) {
  for (int s = 0; s < i.sources; ++s) {
    Operand& o = i.source[s];
    const uint32_t type = view.iga.source_type(view.kernel, view.pc, s);
    o.type = type == kTensorFloat ? Type::F : type_of(type);
    const uint32_t name = view.iga.source_name(view.kernel, view.pc, s);
    if (o.type == Type::None || view.iga.source_kind(view.kernel, view.pc, s) != iga::Direct) return false;
    if (name == iga::Null && s == 0) continue;
    const int number = view.iga.source_register(view.kernel, view.pc, s);
    if (name != iga::General || !set_place(o, name, number, view.iga.source_sub_register(view.kernel, view.pc, s)))
      return false;
  }
  return decode_destination(view, kernel, i) && i.destination.file == File::General && !i.destination.indirect;
}

bool decode_destination(const View& view, Kernel& kernel, Instruction& i) {
  if (view.iga.has_destination(view.kernel, view.pc) != 1) return true;
  Operand& o = i.destination;
  const uint32_t kind = view.iga.destination_kind(view.kernel, view.pc);
  o.lanes = i.size;
  o.type = type_of(view.iga.destination_type(view.kernel, view.pc));
  const uint32_t name = view.iga.destination_name(view.kernel, view.pc);
  if (kind != iga::Indirect && name == iga::Null) return true;
  uint32_t stride = 1;
  view.iga.destination_stride(view.kernel, view.pc, &stride);
  o.vertical = 0, o.width = 32, o.horizontal = static_cast<int16_t>(stride ? stride : 1);
  const int sub = view.iga.destination_sub_register(view.kernel, view.pc);
  if (kind == iga::Indirect) {
    int16_t offset = 0;
    view.iga.destination_offset(view.kernel, view.pc, &offset);
    return set_indirect(o, sub, offset);
  }
  if (!set_place(o, name, view.iga.destination_register(view.kernel, view.pc), sub)) return false;
  if (kind == iga::Macro) {
    int16_t macro = 8;
    view.iga.destination_macro(view.kernel, view.pc, &macro);
    o.macro = static_cast<int8_t>(macro);
    o.horizontal = 1;
  }
  return set_region(o, kernel);
}

}  // namespace ishmem_emulator::eu
