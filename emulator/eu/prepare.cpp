// Determines in which type an instruction computes, and which functions execute it.
#include "lanes.hpp"
#include "operations.hpp"

#include <algorithm>
#include <ctime>

namespace ishmem_emulator::eu {
namespace {

template <class Test>
bool any_source(const Instruction& i, Test test) {
  return std::any_of(i.source, i.source + i.sources, test);
}
template <class Test>
bool all_sources(const Instruction& i, Test test) {
  return std::all_of(i.source, i.source + i.sources, test);
}

bool is_plain(const Operand& o) { return o.modifier == Modifier::None; }
bool is_wide(const Operand& o) { return size_of(o.type) == 8; }
bool has_wide(const Instruction& i) { return is_wide(i.destination) || any_source(i, is_wide); }

Type unsigned_of(int size) {
  return size == 1 ? Type::UB : size == 2 ? Type::UW : size == 4 ? Type::UD : Type::UQ;
}

bool is_bit_operation(Op op) {
  switch (op) {
    case Op::And: case Op::Or: case Op::Xor: case Op::Not: case Op::Bfn: case Op::Shl: case Op::Shr: case Op::Asr:
    case Op::Rol: case Op::Ror: return true;
    default: return false;
  }
}

bool is_comparison(const Instruction& i) {
  return i.op == Op::Cmp || i.op == Op::Csel || (i.op == Op::Sel && i.condition != Condition::None);
}

// The narrowest type that holds the values of all sources.
Class comparison_class(const Instruction& i) {
  const bool no_sign = all_sources(i, [](const Operand& o) { return !is_signed(o.type) && is_plain(o); });
  if (any_source(i, is_wide) || (i.op != Op::Cmp && is_wide(i.destination))) {
    if (no_sign) return Class::U64;
    const bool fits = all_sources(i, [](const Operand& o) { return o.type != Type::UQ && (is_plain(o) || !is_wide(o)); });
    return fits ? Class::S64 : Class::S128;
  }
  if (no_sign) return Class::U32;
  const bool fits = all_sources(
      i, [](const Operand& o) { return size_of(o.type) < 4 || (o.type == Type::D && is_plain(o)); });
  return fits ? Class::S32 : Class::S64;
}

Class integer_class(const Instruction& i) {
  if (is_comparison(i)) return comparison_class(i);
  const bool wide = has_wide(i), product = i.op == Op::Mul || i.op == Op::Mad;
  if (i.op == Op::Asr && i.plain) {
    if (is_signed(i.source[0].type)) return wide ? Class::S64 : Class::S32;
    return wide ? Class::U64 : Class::U32;
  }
  if (!i.plain) return !is_bit_operation(i.op) && (wide || product) ? Class::S128 : Class::S64;
  if (i.op == Op::Avg || i.op == Op::Mach || i.op == Op::Macl) return Class::S64;
  if (product && i.destination.file == File::Accumulator) return Class::S64;
  return wide ? Class::U64 : Class::U32;
}

Class float_class(const Instruction& i) {
  const auto is_double = [](const Operand& o) { return o.type == Type::DF; };
  if (is_double(i.destination) || any_source(i, is_double)) return Class::F64;
  // A product of halves and its sum are rounded once.
  return i.op == Op::Mad && size_of(i.destination.type) == 2 ? Class::F64 : Class::F32;
}

// Floats that keep their bits: as integers of their size.
bool keeps_bits(const Instruction& i) {
  if ((i.op != Op::Mov && i.op != Op::Sel) || !i.plain) return false;
  return all_sources(i, [&](const Operand& o) { return is_plain(o) && o.type == i.destination.type; });
}

void treat_as_bits(Instruction& i) {
  i.destination.type = unsigned_of(size_of(i.destination.type));
  for (int s = 0; s < i.sources; ++s) i.source[s].type = i.destination.type;
}

// Conversions between integers and floats; false: the form is not known.
bool conversion_class(Instruction& i) {
  if (is_float(i.source[0].type)) {
    i.lanes_class = Class::F64;
    i.saturate = false;  // they saturate in any case
    i.plain = i.condition == Condition::None;
    return i.plain;
  }
  i.lanes_class = i.source[0].type == Type::UQ ? Class::U64 : Class::S64;
  return i.plain;
}

bool choose_class(Instruction& i) {
  if (keeps_bits(i) && is_float(i.destination.type)) treat_as_bits(i);
  const bool from_float = any_source(i, [](const Operand& o) { return is_float(o.type); });
  if (i.op == Op::Mov && from_float != is_float(i.destination.type)) return conversion_class(i);
  if (from_float || (is_float(i.destination.type) && i.op != Op::Cmp)) {
    i.lanes_class = float_class(i);
    return i.condition != Condition::Overflow;
  }
  i.lanes_class = integer_class(i);
  return !(i.saturate && is_bit_operation(i.op));
}

// What the operation's function gets beside its lanes.
void set_function(Instruction& i) {
  switch (i.op) {
    case Op::Shr:
    case Op::Shl:
    case Op::Asr: i.function = is_wide(i.destination) || is_wide(i.source[0]) ? 63 : 31; break;
    case Op::Rol:
    case Op::Ror: i.function = std::max(16, 8 * size_of(i.destination.type)); break;
    case Op::Fbh: i.function = is_signed(i.source[0].type); break;
    case Op::Bfe: i.function = is_signed(i.source[2].type); break;
    case Op::Dp4a: i.function = is_signed(i.source[1].type) | is_signed(i.source[2].type) << 1; break;
    default: break;
  }
  if (i.op == Op::Shr || i.op == Op::Rol || i.op == Op::Ror) i.source[0].type = unsigned_of(size_of(i.source[0].type));
}

bool bind_operands(Instruction& i) {
  for (int s = 0; s < i.sources; ++s) {
    Operand& o = i.source[s];
    o.fetch = fetch_for(o, i.lanes_class, i.size);
    o.direct = is_direct(o, i.lanes_class);
    if (!o.fetch) return false;
  }
  Class result = i.lanes_class;
  if (i.op == Op::Cmp) {
    result = Class::S64;
    i.destination.type = unsigned_of(size_of(i.destination.type));
  }
  i.put = put_for(i.destination, result, i.size);
  return i.put;
}

Execute operation(const Instruction& i) {
  for (const auto find : {move_operation, compare_operation, macro_operation, math_operation, accumulator_operation,
                          bit_operation})
    if (const Execute execute = find(i)) return execute;
  const bool floats = i.lanes_class == Class::F32 || i.lanes_class == Class::F64;
  return floats ? float_operation(i) : integer_operation(i);
}

// Registers whose contents the hardware changes by itself.
void refresh_and_execute(Thread& t, const Instruction& i) {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const uint64_t ticks = static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
  memcpy(t.registers + place::kTimestamp, &ticks, sizeof ticks);
  t.word(place::kChannelEnable) = t.active;
  t.word(place::kPointer) = static_cast<uint32_t>(i.pc);
  i.inner(t, i);
}

void execute_and_apply(Thread& t, const Instruction& i) {
  i.inner(t, i);
  apply_control(t);
}

void wrap(Instruction& i) {
  const bool fresh = any_source(i, [](const Operand& o) {
    return o.file == File::Timestamp || o.file == File::ChannelEnable || o.file == File::Pointer;
  });
  if (fresh || i.destination.file == File::Control) i.inner = i.execute;
  if (fresh) i.execute = refresh_and_execute;
  if (i.destination.file == File::Control) i.execute = execute_and_apply;
}

// The compiler has Xe-HPC touch a register by a csel without a condition, of the same value twice: a move.
void simplify(Instruction& i) {
  const Operand &a = i.source[0], &b = i.source[1];
  const bool same = a.file == b.file && a.offset == b.offset && a.stride == b.stride && a.region == b.region &&
                    !a.indirect && !b.indirect && a.file != File::Immediate && a.modifier == b.modifier;
  if (i.op != Op::Csel || i.condition != Condition::None || !same) return;
  i.op = Op::Mov;
  i.sources = 1;
}

Floats floats_of(const Instruction& i) {
  const auto has = [&](Type type) {
    return i.destination.type == type || any_source(i, [&](const Operand& o) { return o.type == type; });
  };
  if (has(Type::DF)) return Floats::Double;
  return has(Type::F) ? Floats::Single : has(Type::HF) ? Floats::Half : Floats::None;
}

Execute find_execute(Instruction& i) {
  if (const Execute execute = control_operation(i)) return execute;
  if (i.op == Op::Send) return send_operation(i);
  if (i.op == Op::Dpas) return matrix_operation(i);
  simplify(i);
  set_function(i);
  if (!choose_class(i) || !bind_operands(i)) return nullptr;
  i.floats = floats_of(i);
  return operation(i);
}

}  // namespace

void cannot_execute(Thread&, const Instruction&) { throw Failure("this instruction is not known"); }

void prepare(Instruction& i) {
  i.plain = !i.saturate && i.condition == Condition::None;
  i.execute = i.op == Op::Unknown || i.op == Op::Illegal ? nullptr : find_execute(i);
  if (!i.execute) i.execute = cannot_execute;
  else if (i.op != Op::Send) wrap(i);
}

}  // namespace ishmem_emulator::eu
