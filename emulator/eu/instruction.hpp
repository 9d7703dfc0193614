// A decoded kernel: instructions with their operands resolved to places in the register file of a thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace ishmem_emulator::eu {

struct Thread;
struct Instruction;
struct Operand;

enum class Type : uint8_t { UB, B, UW, W, UD, D, UQ, Q, HF, BF, F, DF, None };

constexpr int size_of(Type type) {
  constexpr int sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8, 4};
  return sizes[static_cast<int>(type)];
}
constexpr bool is_float(Type type) { return type >= Type::HF && type <= Type::DF; }
constexpr bool is_signed(Type type) {
  return type == Type::B || type == Type::W || type == Type::D || type == Type::Q || is_float(type);
}

// A thread's registers are one array of bytes, and each register file has its place there. Loads of 32 lanes may read past
// the lanes that an instruction has, but not past the array.
namespace place {
constexpr int kRegister = 64, kGeneral = 0, kGeneralBytes = 256 * kRegister, kAccumulators = kGeneralBytes,
              kAccumulatorBytes = 16 * kRegister, kAddress = kAccumulators + kAccumulatorBytes, kAddressBytes = 64,
              kFlags = kAddress + kAddressBytes, kFlagBytes = 16, kControl = kFlags + kFlagBytes, kControlBytes = 16,
              kState = kControl + kControlBytes, kStateBytes = 32, kMessage = kState + kStateBytes, kMessageBytes = 32,
              kTimestamp = kMessage + kMessageBytes, kTimestampBytes = 32, kChannelEnable = kTimestamp + kTimestampBytes,
              kPointer = kChannelEnable + 16, kZeros = kPointer + 16, kEnd = kZeros + 256, kBytes = kEnd + 256;
}  // namespace place

enum class File : uint8_t {
  Null, General, Accumulator, Address, Flag, Control, State, Message, Timestamp, ChannelEnable, Pointer, Immediate
};
enum class Modifier : uint8_t { None, Absolute, Negate, NegateAbsolute, Complement };
enum class Region : uint8_t { Scalar, Packed, Strided, Table };

// Values of lanes in the type in which an instruction computes.
enum class Class : uint8_t { S32, U32, S64, U64, S128, F32, F64 };

using Fetch = void (*)(const Thread&, const Operand&, void* lanes);
using Put = void (*)(Thread&, const Instruction&, const void* lanes, uint32_t mask);

struct Operand {
  File file = File::Null;
  Type type = Type::None;
  Modifier modifier = Modifier::None;
  Region region = Region::Scalar;
  bool direct = false;             // the lanes in the registers are those in which the instruction computes
  bool indirect = false;           // the place is in an address register
  bool per_lane = false;           // as many address registers as there are rows of `width` lanes
  int8_t macro = -1;               // number of the exponent extension of a math macro's operand; 8: none
  uint8_t lanes = 1;
  int16_t vertical = 0, width = 1, horizontal = 0;  // in elements
  int16_t address_offset = 0;      // bytes, added to the address register
  int32_t stride = 0;              // bytes between lanes, if regular
  uint32_t offset = 0;             // bytes, in the register file; of the address register, if indirect
  uint64_t bits = 0;               // of an immediate
  const void* constant = nullptr;  // its lanes
  const uint16_t* table = nullptr; // bytes from `offset`, for each lane of an irregular region
  Fetch fetch = nullptr;           // to the type in which the instruction computes
};

// Whose denormals the control register says to keep or to flush: those of the widest floats of an instruction.
enum class Floats : uint8_t { None, Half, Single, Double };

enum class Predicate : uint8_t { None, Lanes, Any, All };
enum class Condition : uint8_t { None, Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual, Overflow = 8, Unordered };

enum class Op : uint8_t {
  Unknown, Add, Add3, Addc, And, Asr, Avg, Bfe, Bfi1, Bfi2, Bfn, Bfrev, Break, Call, Cbit, Cmp, Continue, Csel, Dp4a, Dpas, Else,
  EndIf, Fbh, Fbl, Frc, Goto, If, Illegal, Jmpi, Join, Lzd, Mach, Macl, Mad, Madm, Math, Mov, Mul, Nop, Not, Or, Ret,
  Rndd, Rnde, Rndu, Rndz, Rol, Ror, Sel, Send, Shl, Shr, Subb, Sync, While, Xor
};

// The values of the library, which are those of the instruction set.
enum class MathFunction : uint8_t {
  Invert = 1, Log2, Exp2, SquareRoot, InverseSquareRoot, Sine, Cosine, Divide, Power, IntegerDivide, IntegerQuotient,
  IntegerRemainder, InvertMacro, InverseSquareRootMacro, HyperbolicTangent, Sigmoid
};
enum class SyncFunction : uint8_t { Nop = 0, AllRead = 2, AllWrite = 3, Flush = 12, Fence = 13, Barrier = 14, Host = 15 };
enum class Unit : uint8_t { UgmLow = 1, Gateway = 3, DataCache = 10, Slm = 14, Ugm = 15 };

// Of a message to memory, from its descriptors.
struct MemoryMessage {
  uint8_t opcode = 0, address_bytes = 8, element_bytes = 4, register_bytes = 4, elements = 1, components = 1;
  uint8_t surface = 0;      // 0: flat addresses, 1 and 2: surface states of the scratch space, 3: binding table
  bool transposed = false;  // one address, and elements of consecutive lanes beside each other
  bool upper_half = false;  // 16 bits of memory are the upper ones of a lane
  bool cached = true;       // by the L1 cache
  int32_t offset = 0;
};

struct SendInfo {
  Unit unit = Unit::Ugm;
  bool end_of_thread = false;
  int16_t descriptor_register = -1, extended_register = -1;  // a0.#, where they are not immediate
  uint32_t descriptor = 0, extended = 0;
  int32_t destination = -1, address = -1, data = -1;  // bytes, in the register file; -1: null
  MemoryMessage memory;
};

struct Instruction {
  void (*execute)(Thread&, const Instruction&) = nullptr;
  void (*inner)(Thread&, const Instruction&) = nullptr;  // after what `execute` prepares
  Put put = nullptr;
  uint32_t lane_mask = 1;  // of as many lanes as the instruction has
  uint8_t size = 1, channel = 0;
  bool no_mask = false, inverse = false, saturate = false, plain = true;  // plain: neither saturation nor condition
  Predicate predicate = Predicate::None;
  Condition condition = Condition::None;
  bool early_out = false, backward = false;
  Op op = Op::Unknown;
  uint8_t flag = 0, flag_shift = 0;  // the flag register (32 bits), and the bit of the first lane
  uint32_t function = 0;             // of math, sync, bfn, send
  Class lanes_class = Class::U32;
  Floats floats = Floats::None;
  int sources = 0;
  int32_t pc = 0, target = -1, join = -1;  // indices of instructions, after resolution
  Operand destination, source[3];
  SendInfo send;
};

struct Kernel {
  uint64_t start = 0;
  int platform = 0;
  std::vector<char> bytes;
  std::vector<Instruction> code;
  std::vector<int32_t> index_at;  // by pc / 8; -1: no instruction starts there
  std::deque<std::vector<uint16_t>> tables;
  std::deque<std::vector<uint64_t>> constants;

  std::string text(const Instruction&) const;
  int32_t index(int64_t pc) const {
    return pc < 0 || pc % 8 || pc / 8 >= static_cast<int64_t>(index_at.size()) ? -1 : index_at[pc / 8];
  }
};

}  // namespace ishmem_emulator::eu
