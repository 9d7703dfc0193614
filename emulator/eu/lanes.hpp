// Reading and writing the lanes of operands. This header is for files that are compiled with -fno-strict-aliasing.
#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "numbers.hpp"
#include "thread.hpp"

namespace ishmem_emulator::eu {

using Wide = __int128;

// Lanes are computed in groups of 1, 16 or 32: more than the instruction has do no harm.
constexpr int padded(int lanes) { return lanes == 1 ? 1 : lanes <= 16 ? 16 : 32; }

template <int N>
constexpr uint32_t kAllLanes = N == 32 ? ~0u : (1u << N) - 1;

// Lanes of an instruction, from its first channel on: of active channels, those of the predicate, and what it changes.
inline uint32_t active_lanes(const Thread& t, const Instruction& i) {
  return (i.no_mask ? ~0u : t.active) >> i.channel & i.lane_mask;
}
uint32_t predicate_lanes(const Thread&, const Instruction&);
inline uint32_t enabled(const Thread& t, const Instruction& i) {
  uint32_t mask = active_lanes(t, i);
  if (i.predicate != Predicate::None) mask &= predicate_lanes(t, i);
  return mask;
}

inline const uint8_t* base_of(const Thread& t, const Operand& o) {
  return o.constant ? static_cast<const uint8_t*>(o.constant) : t.registers + o.offset;
}

// Bytes in the register file of the lanes of an operand whose place is in an address register.
void indirect_places(const Thread&, const Operand&, uint32_t* places);

// The lanes of a source: in the registers if they can be used as they are, else in the buffer.
template <class C>
const C* lanes_of(const Thread& t, const Operand& o, C* buffer) {
  if (o.direct) return reinterpret_cast<const C*>(base_of(t, o));
  o.fetch(t, o, buffer);
  return buffer;
}

inline void set_flags(Thread& t, const Instruction& i, uint32_t values, uint32_t mask) {
  uint32_t& flag = t.flag(i.flag);
  flag = (flag & ~(mask << i.flag_shift)) | (values & mask) << i.flag_shift;
}

template <class C>
uint32_t compare_zero(Condition condition, const C* lanes, int n) {
  uint32_t result = 0;
  for (int k = 0; k < n; ++k) {
    bool holds = false;
    switch (condition) {
      case Condition::Equal: holds = lanes[k] == 0; break;
      case Condition::NotEqual: holds = lanes[k] != 0; break;
      case Condition::Greater: holds = lanes[k] > 0; break;
      case Condition::GreaterEqual: holds = lanes[k] >= 0; break;
      case Condition::Less: holds = lanes[k] < 0; break;
      case Condition::LessEqual: holds = lanes[k] <= 0; break;
      case Condition::Unordered: holds = lanes[k] != lanes[k]; break;
      default: break;
    }
    result |= static_cast<uint32_t>(holds) << k;
  }
  return result;
}

// Saturate, and set flags by the result as the destination's type has it.
void finish_wide(Thread&, const Instruction&, Wide* lanes, uint32_t mask);
void finish_integer(Thread&, const Instruction&, int64_t* lanes, uint32_t mask);
template <class C>
void finish_float(Thread& t, const Instruction& i, C* lanes, uint32_t mask) {
  if (i.saturate)
    for (int k = 0; k < i.size; ++k) lanes[k] = lanes[k] > 0 ? (lanes[k] < 1 ? lanes[k] : C(1)) : C(0);
  if (i.condition != Condition::None) set_flags(t, i, compare_zero(i.condition, lanes, i.size), mask);
}

template <class C>
void finish(Thread& t, const Instruction& i, C* lanes, uint32_t mask) {
  if (!i.plain) {
    if constexpr (std::is_same_v<C, float> || std::is_same_v<C, double>)
      finish_float(t, i, lanes, mask);
    else if constexpr (std::is_same_v<C, Wide>)
      finish_wide(t, i, lanes, mask);
    else if constexpr (std::is_same_v<C, int64_t> || std::is_same_v<C, uint64_t>)
      finish_integer(t, i, reinterpret_cast<int64_t*>(lanes), mask);
  }
  i.put(t, i, lanes, mask);
}

// An instruction whose lanes do not depend on each other: F::apply(a, b, c, function) for each lane.
template <class F, class C, int N, int Sources, bool Finishes = true>
void each_lane(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  alignas(64) C buffers[3][N], result[N];
  const C* a = lanes_of(t, i.source[0], buffers[0]);
  const C* b = Sources > 1 ? lanes_of(t, i.source[1], buffers[1]) : a;
  const C* c = Sources > 2 ? lanes_of(t, i.source[2], buffers[2]) : a;
  for (int k = 0; k < N; ++k) result[k] = F::apply(a[k], b[k], c[k], i.function);
  if constexpr (Finishes) finish(t, i, result, mask);
  else i.put(t, i, result, mask);
}

template <class F, class C, int Sources>
auto for_size(int size) {
  return size == 1 ? each_lane<F, C, 1, Sources> : size <= 16 ? each_lane<F, C, 16, Sources> : each_lane<F, C, 32, Sources>;
}

// Functions for an operand: to the type in which the instruction computes, and back. nullptr: there is none.
Fetch fetch_for(const Operand&, Class, int lanes);
Put put_for(const Operand& destination, Class, int lanes);
bool is_direct(const Operand&, Class);

}  // namespace ishmem_emulator::eu
