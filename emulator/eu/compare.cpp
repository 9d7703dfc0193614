// cmp, sel and csel.
#include "lanes.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

template <Condition How, class C>
bool holds(C a, C b) {
  switch (How) {
    case Condition::Equal: return a == b;
    case Condition::NotEqual: return a != b;
    case Condition::Greater: return a > b;
    case Condition::GreaterEqual: return a >= b;
    case Condition::Less: return a < b;
    case Condition::LessEqual: return a <= b;
    case Condition::Unordered: return a != a || b != b;
    default: return false;
  }
}

// Bytes of all ones or zeros, as a bit for each.
template <int N>
uint32_t bits_of(const uint8_t* bytes) {
  if constexpr (N == 32) return _mm256_movemask_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(bytes)));
  if constexpr (N == 16) return _mm_movemask_epi8(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
  return bytes[0] & 1;
}

template <Condition How, class C, int N>
uint32_t compare(const Thread& t, const Operand& left, const Operand& right) {
  alignas(64) C buffers[2][N];
  alignas(32) uint8_t result[N];
  const C* a = lanes_of(t, left, buffers[0]);
  const C* b = lanes_of(t, right, buffers[1]);
  for (int k = 0; k < N; ++k) result[k] = holds<How>(a[k], b[k]) ? 0xff : 0;
  return bits_of<N>(result);
}

template <Condition How, class C, int N>
void compare_lanes(Thread& t, const Instruction& i) {
  const uint32_t mask = enabled(t, i);
  if (!mask) return;
  const uint32_t bits = compare<How, C, N>(t, i.source[0], i.source[1]);
  set_flags(t, i, bits, mask);
  if (i.destination.file == File::Null) return;
  int64_t lanes[N];
  for (int k = 0; k < N; ++k) lanes[k] = -static_cast<int64_t>(bits >> k & 1);
  i.put(t, i, lanes, mask);
}

// The lesser or the greater: a number, where only one of two is one.
template <Condition How>
struct ByValue {
  template <class C>
  static C apply(C a, C b, C, uint32_t) {
    return holds<How>(a, b) || (std::is_floating_point_v<C> && b != b) ? a : b;
  }
};
template <Condition How>
struct BySign {
  template <class C>
  static C apply(C a, C b, C c, uint32_t) { return holds<How>(c, C(0)) ? a : b; }
};

template <class C, int N>
void select_by_flag(Thread& t, const Instruction& i) {
  const uint32_t mask = active_lanes(t, i);
  if (!mask) return;
  const uint32_t chosen = predicate_lanes(t, i);
  alignas(64) C buffers[2][N], result[N];
  const C* a = lanes_of(t, i.source[0], buffers[0]);
  const C* b = lanes_of(t, i.source[1], buffers[1]);
  for (int k = 0; k < N; ++k) result[k] = chosen >> k & 1 ? a[k] : b[k];
  finish(t, i, result, mask);
}

// For each form: which function has it. The condition of a selection changes no flags.
enum class Form { Compare, ByValue, BySign };

template <Form What, Condition How, class C, int N>
Execute form_of() {
  if constexpr (What == Form::Compare) return compare_lanes<How, C, N>;
  if constexpr (What == Form::ByValue) return each_lane<ByValue<How>, C, N, 2, false>;
  return each_lane<BySign<How>, C, N, 3, false>;
}

template <Form What, class C, int N>
Execute of_condition(Condition condition) {
  switch (condition) {
    case Condition::Equal: return form_of<What, Condition::Equal, C, N>();
    case Condition::NotEqual: return form_of<What, Condition::NotEqual, C, N>();
    case Condition::Greater: return form_of<What, Condition::Greater, C, N>();
    case Condition::GreaterEqual: return form_of<What, Condition::GreaterEqual, C, N>();
    case Condition::Less: return form_of<What, Condition::Less, C, N>();
    case Condition::LessEqual: return form_of<What, Condition::LessEqual, C, N>();
    case Condition::Unordered: return form_of<What, Condition::Unordered, C, N>();
    default: return nullptr;
  }
}

template <Form What, class C>
Execute of_size(const Instruction& i) {
  switch (padded(i.size)) {
    case 1: return of_condition<What, C, 1>(i.condition);
    case 16: return of_condition<What, C, 16>(i.condition);
    default: return of_condition<What, C, 32>(i.condition);
  }
}

template <Form What>
Execute of_class(const Instruction& i) {
  switch (i.lanes_class) {
    case Class::S32: return of_size<What, int32_t>(i);
    case Class::U32: return of_size<What, uint32_t>(i);
    case Class::S64: return of_size<What, int64_t>(i);
    case Class::U64: return of_size<What, uint64_t>(i);
    case Class::S128: return of_size<What, Wide>(i);
    case Class::F32: return of_size<What, float>(i);
    case Class::F64: return of_size<What, double>(i);
  }
  return nullptr;
}

template <class C>
Execute by_flag_of_size(int size) {
  return size == 1 ? select_by_flag<C, 1> : size <= 16 ? select_by_flag<C, 16> : select_by_flag<C, 32>;
}

Execute by_flag(const Instruction& i) {
  switch (i.lanes_class) {
    case Class::S32:
    case Class::U32: return by_flag_of_size<uint32_t>(i.size);
    case Class::S64:
    case Class::U64: return by_flag_of_size<uint64_t>(i.size);
    case Class::S128: return by_flag_of_size<Wide>(i.size);
    case Class::F32: return by_flag_of_size<float>(i.size);
    case Class::F64: return by_flag_of_size<double>(i.size);
  }
  return nullptr;
}

}  // namespace

Execute compare_operation(const Instruction& i) {
  switch (i.op) {
    case Op::Cmp: return of_class<Form::Compare>(i);
    case Op::Csel: return i.saturate ? nullptr : of_class<Form::BySign>(i);
    case Op::Sel:
      if (i.condition == Condition::None) return by_flag(i);
      return i.saturate ? nullptr : of_class<Form::ByValue>(i);
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
