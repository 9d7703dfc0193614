#include "lanes.hpp"

namespace ishmem_emulator::eu {
namespace {

// Sources -------------------------------------------------------------------------------------------------------------

template <class C>
void modify(const Operand& o, C* lanes, int n) {
  const bool absolute = o.modifier == Modifier::Absolute || o.modifier == Modifier::NegateAbsolute;
  const bool negate = o.modifier == Modifier::Negate || o.modifier == Modifier::NegateAbsolute;
  if constexpr (std::is_floating_point_v<C>) {
    if (absolute) for (int k = 0; k < n; ++k) lanes[k] = std::fabs(lanes[k]);
    if (negate) for (int k = 0; k < n; ++k) lanes[k] = -lanes[k];
  } else {
    if (absolute && is_signed(o.type))
      for (int k = 0; k < n; ++k) lanes[k] = lanes[k] >> (8 * sizeof(C) - 1) & 1 ? 0 - lanes[k] : lanes[k];
    if (negate) for (int k = 0; k < n; ++k) lanes[k] = 0 - lanes[k];
    if (o.modifier == Modifier::Complement) for (int k = 0; k < n; ++k) lanes[k] = ~lanes[k];
  }
}

template <class T, class C, int N, Region R>
void fetch(const Thread& t, const Operand& o, void* to) {
  C* lanes = static_cast<C*>(to);
  const uint8_t* from = base_of(t, o);
  if constexpr (R == Region::Scalar) {
    const C value = widened<C>(*reinterpret_cast<const T*>(from));
    for (int k = 0; k < N; ++k) lanes[k] = value;
  } else if constexpr (R == Region::Packed) {
    const T* values = reinterpret_cast<const T*>(from);
    for (int k = 0; k < N; ++k) lanes[k] = widened<C>(values[k]);
  } else if constexpr (R == Region::Strided) {
    const int stride = o.stride;
    for (int k = 0; k < o.lanes; ++k) lanes[k] = widened<C>(*reinterpret_cast<const T*>(from + k * stride));
    for (int k = o.lanes; k < N; ++k) lanes[k] = C(0);
  } else {
    uint32_t places[32];
    const uint8_t* file = t.registers;
    if (o.indirect) indirect_places(t, o, places);
    for (int k = 0; k < o.lanes; ++k)
      lanes[k] = widened<C>(*reinterpret_cast<const T*>(o.indirect ? file + places[k] : from + o.table[k]));
    for (int k = o.lanes; k < N; ++k) lanes[k] = C(0);
  }
  if (o.modifier != Modifier::None) modify(o, lanes, N);
}

template <class T, class C, int N>
Fetch fetch_of_region(Region region) {
  switch (region) {
    case Region::Scalar: return fetch<T, C, N, Region::Scalar>;
    case Region::Packed: return fetch<T, C, N, Region::Packed>;
    case Region::Strided: return fetch<T, C, N, Region::Strided>;
    case Region::Table: return fetch<T, C, N, Region::Table>;
  }
  return nullptr;
}

template <class T, class C>
Fetch fetch_of_lanes(Region region, int lanes) {
  switch (padded(lanes)) {
    case 1: return fetch_of_region<T, C, 1>(region);
    case 16: return fetch_of_region<T, C, 16>(region);
    default: return fetch_of_region<T, C, 32>(region);
  }
}

template <class C>
Fetch fetch_integer(const Operand& o, int lanes) {
  switch (o.type) {
    case Type::UB: return fetch_of_lanes<uint8_t, C>(o.region, lanes);
    case Type::B: return fetch_of_lanes<int8_t, C>(o.region, lanes);
    case Type::UW: return fetch_of_lanes<uint16_t, C>(o.region, lanes);
    case Type::W: return fetch_of_lanes<int16_t, C>(o.region, lanes);
    case Type::UD: return fetch_of_lanes<uint32_t, C>(o.region, lanes);
    case Type::D: return fetch_of_lanes<int32_t, C>(o.region, lanes);
    case Type::UQ: return sizeof(C) < 8 ? nullptr : fetch_of_lanes<uint64_t, C>(o.region, lanes);
    case Type::Q: return sizeof(C) < 8 ? nullptr : fetch_of_lanes<int64_t, C>(o.region, lanes);
    default: return nullptr;
  }
}

template <class C>
Fetch fetch_float(const Operand& o, int lanes) {
  switch (o.type) {
    case Type::HF: return fetch_of_lanes<Half, C>(o.region, lanes);
    case Type::BF: return fetch_of_lanes<BrainFloat, C>(o.region, lanes);
    case Type::F: return fetch_of_lanes<float, C>(o.region, lanes);
    case Type::DF: return sizeof(C) < 8 ? nullptr : fetch_of_lanes<double, C>(o.region, lanes);
    default: return nullptr;
  }
}

// Destinations --------------------------------------------------------------------------------------------------------

template <class T>
void put_strided(Thread& t, const Instruction& i, const T* values, uint32_t mask) {
  uint8_t* to = t.registers + i.destination.offset;
  const int stride = i.destination.stride;
  if (mask == i.lane_mask) {
    for (int k = 0; k < i.size; ++k) *reinterpret_cast<T*>(to + k * stride) = values[k];
    return;
  }
  for (; mask; mask &= mask - 1) {
    const int k = __builtin_ctz(mask);
    *reinterpret_cast<T*>(to + k * stride) = values[k];
  }
}

template <class T>
void put_indirect(Thread& t, const Instruction& i, const T* values, uint32_t mask) {
  uint32_t places[32];
  indirect_places(t, i.destination, places);
  for (; mask; mask &= mask - 1) {
    const int k = __builtin_ctz(mask);
    *reinterpret_cast<T*>(t.registers + places[k]) = values[k];
  }
}

// The register of 32-bit integers in an accumulator is also known at its full width.
void widen_accumulator(Thread& t, const Operand& d) {
  const int first = (static_cast<int>(d.offset) - place::kAccumulators) / 4;
  for (int k = first; k < first + d.lanes && k < place::kAccumulatorBytes / 4; ++k) {
    const uint32_t bits = t.word(place::kAccumulators + 4 * k);
    t.products[k] = d.type == Type::D ? static_cast<int32_t>(bits) : static_cast<int64_t>(bits);
  }
}

template <class T, class C, int N, Region R>
void put(Thread& t, const Instruction& i, const void* from, uint32_t mask) {
  const C* lanes = static_cast<const C*>(from);
  if constexpr (R == Region::Scalar) {
    if (N == 1 || mask & 1) *reinterpret_cast<T*>(t.registers + i.destination.offset) = narrowed<T>(lanes[0]);
    return;
  }
  alignas(64) T values[N];
  for (int k = 0; k < N; ++k) values[k] = narrowed<T>(lanes[k]);
  if constexpr (R == Region::Packed) {
    T* to = reinterpret_cast<T*>(t.registers + i.destination.offset);
    if (mask == kAllLanes<N>) {
      memcpy(to, values, sizeof values);
    } else if (i.size == N) {
      for (int k = 0; k < N; ++k) to[k] = mask >> k & 1 ? values[k] : to[k];
    } else {
      for (int k = 0; k < i.size; ++k) to[k] = mask >> k & 1 ? values[k] : to[k];
    }
  } else if constexpr (R == Region::Strided) {
    put_strided(t, i, values, mask);
  } else {
    put_indirect(t, i, values, mask);
  }
  if (i.destination.file == File::Accumulator && size_of(i.destination.type) == 4) widen_accumulator(t, i.destination);
}

void put_nowhere(Thread&, const Instruction&, const void*, uint32_t) {}

template <class T, class C, int N>
Put put_of_region(Region region) {
  switch (region) {
    case Region::Packed: return put<T, C, N, Region::Packed>;
    case Region::Strided: return put<T, C, N, Region::Strided>;
    case Region::Table: return put<T, C, N, Region::Table>;
    case Region::Scalar: return N == 1 ? put<T, C, N, Region::Scalar> : put<T, C, N, Region::Packed>;
  }
  return nullptr;
}

template <class T, class C>
Put put_of_lanes(Region region, int lanes) {
  switch (padded(lanes)) {
    case 1: return put_of_region<T, C, 1>(region);
    case 16: return put_of_region<T, C, 16>(region);
    default: return put_of_region<T, C, 32>(region);
  }
}

template <class C>
Put put_integer(const Operand& d, int lanes) {
  switch (d.type) {
    case Type::UB: return put_of_lanes<uint8_t, C>(d.region, lanes);
    case Type::B: return put_of_lanes<int8_t, C>(d.region, lanes);
    case Type::UW: return put_of_lanes<uint16_t, C>(d.region, lanes);
    case Type::W: return put_of_lanes<int16_t, C>(d.region, lanes);
    case Type::UD: return put_of_lanes<uint32_t, C>(d.region, lanes);
    case Type::D: return put_of_lanes<int32_t, C>(d.region, lanes);
    case Type::UQ: return sizeof(C) < 8 ? nullptr : put_of_lanes<uint64_t, C>(d.region, lanes);
    case Type::Q: return sizeof(C) < 8 ? nullptr : put_of_lanes<int64_t, C>(d.region, lanes);
    default: return nullptr;
  }
}

template <class C>
Put put_float(const Operand& d, int lanes) {
  switch (d.type) {
    case Type::HF: return put_of_lanes<Half, C>(d.region, lanes);
    case Type::BF: return put_of_lanes<BrainFloat, C>(d.region, lanes);
    case Type::F: return put_of_lanes<float, C>(d.region, lanes);
    case Type::DF: return sizeof(C) < 8 ? nullptr : put_of_lanes<double, C>(d.region, lanes);
    default: return nullptr;
  }
}

int64_t limit(Type type, bool high) {
  const int bits = 8 * size_of(type);
  if (!is_signed(type)) return high && bits < 64 ? (int64_t(1) << bits) - 1 : 0;
  const int64_t top = bits == 64 ? INT64_MAX : (int64_t(1) << (bits - 1)) - 1;
  return high ? top : -top - 1;
}

// As the destination's type has the value.
int64_t wrapped(Type type, uint64_t bits) {
  switch (type) {
    case Type::UB: return static_cast<uint8_t>(bits);
    case Type::B: return static_cast<int8_t>(bits);
    case Type::UW: return static_cast<uint16_t>(bits);
    case Type::W: return static_cast<int16_t>(bits);
    case Type::UD: return static_cast<uint32_t>(bits);
    case Type::D: return static_cast<int32_t>(bits);
    default: return static_cast<int64_t>(bits);
  }
}

template <class C>
void finish_any(Thread& t, const Instruction& i, C* lanes, uint32_t mask) {
  const Type type = i.destination.type;
  const C low = limit(type, false);
  const C high = type == Type::UQ ? static_cast<C>(UINT64_MAX) : static_cast<C>(limit(type, true));
  if (i.condition == Condition::Overflow) {
    uint32_t over = 0;
    for (int k = 0; k < i.size; ++k) over |= static_cast<uint32_t>(lanes[k] < low || lanes[k] > high) << k;
    set_flags(t, i, over, mask);
  }
  if (i.saturate && !is_float(type)) {
    for (int k = 0; k < i.size; ++k) lanes[k] = lanes[k] < low ? low : lanes[k] > high ? high : lanes[k];
  }
  if (i.condition == Condition::None || i.condition == Condition::Overflow) return;
  C seen[32];
  for (int k = 0; k < i.size; ++k) {
    const int64_t value = wrapped(type, static_cast<uint64_t>(lanes[k]));
    seen[k] = type == Type::UQ ? static_cast<C>(static_cast<uint64_t>(value)) : static_cast<C>(value);
  }
  set_flags(t, i, compare_zero(i.condition, seen, i.size), mask);
}

}  // namespace

uint32_t predicate_lanes(const Thread& t, const Instruction& i) {
  uint32_t bits = t.flag(i.flag) >> i.flag_shift;
  if (i.predicate != Predicate::Lanes) {
    const bool holds = i.predicate == Predicate::Any ? bits & i.lane_mask : (bits & i.lane_mask) == i.lane_mask;
    bits = holds ? ~0u : 0;
  }
  return i.inverse ? ~bits : bits;
}

void indirect_places(const Thread& t, const Operand& o, uint32_t* places) {
  const int size = size_of(o.type);
  for (int k = 0; k < o.lanes; ++k) {
    const int row = o.width ? k / o.width : 0, column = o.width ? k % o.width : k;
    uint16_t address;
    memcpy(&address, t.registers + o.offset + (o.per_lane ? 2 * row : 0), 2);
    const int inside = (o.per_lane ? 0 : row * o.vertical) + column * o.horizontal;
    const int64_t at = int64_t(address) + o.address_offset + int64_t(inside) * size;
    if (at < 0 || at + size > place::kGeneralBytes)
      throw Failure("an address register points outside of the registers, to byte " + std::to_string(at));
    places[k] = place::kGeneral + static_cast<uint32_t>(at);
  }
}

void finish_wide(Thread& t, const Instruction& i, Wide* lanes, uint32_t mask) { finish_any(t, i, lanes, mask); }
void finish_integer(Thread& t, const Instruction& i, int64_t* lanes, uint32_t mask) { finish_any(t, i, lanes, mask); }

Fetch fetch_for(const Operand& o, Class lanes_class, int lanes) {
  switch (lanes_class) {
    case Class::S32:
    case Class::U32: return fetch_integer<uint32_t>(o, lanes);
    case Class::S64:
    case Class::U64: return fetch_integer<uint64_t>(o, lanes);
    case Class::S128: return fetch_integer<Wide>(o, lanes);
    case Class::F32: return fetch_float<float>(o, lanes);
    case Class::F64: return fetch_float<double>(o, lanes);
  }
  return nullptr;
}

Put put_for(const Operand& d, Class lanes_class, int lanes) {
  if (d.file == File::Null) return put_nowhere;
  switch (lanes_class) {
    case Class::S32:
    case Class::U32: return put_integer<uint32_t>(d, lanes);
    case Class::S64: return is_float(d.type) ? put_float<int64_t>(d, lanes) : put_integer<int64_t>(d, lanes);
    case Class::U64: return is_float(d.type) ? put_float<uint64_t>(d, lanes) : put_integer<uint64_t>(d, lanes);
    case Class::S128: return put_integer<Wide>(d, lanes);
    case Class::F32: return put_float<float>(d, lanes);
    case Class::F64: return is_float(d.type) ? put_float<double>(d, lanes) : put_integer<double>(d, lanes);
  }
  return nullptr;
}

bool is_direct(const Operand& o, Class lanes_class) {
  if (o.region != Region::Packed && !(o.region == Region::Scalar && o.lanes == 1)) return false;
  if (o.indirect || o.modifier != Modifier::None) return false;
  switch (lanes_class) {
    case Class::S32:
    case Class::U32: return o.type == Type::UD || o.type == Type::D;
    case Class::S64:
    case Class::U64: return o.type == Type::UQ || o.type == Type::Q;
    case Class::F32: return o.type == Type::F;
    case Class::F64: return o.type == Type::DF;
    default: return false;
  }
}

}  // namespace ishmem_emulator::eu
