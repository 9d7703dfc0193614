// The disassembler library of Intel's compiler, bound at run time: its interface for decoded kernels (kv_*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ishmem_emulator::eu {

struct KernelView;   // what the library calls kv_t
struct OpcodeEntry;  // what it calls an opspec

// Values of the library's enumerations.
namespace iga {
enum Platform : int { XeHpc = 0x1000004, Xe2 = 0x2000000 };
enum Kind : uint32_t { Direct = 1, Macro, Indirect, Immediate, Label };
enum RegisterName : uint32_t {
  Null = 1, Address, Accumulator, MacroExponent, Flag, ChannelEnable, Message, StackPointer, Scalar, State, Control,
  Notification, InstructionPointer, ThreadDependency, Timestamp, FlowControl, Debug, General
};
constexpr uint32_t kPerLaneAddress = 31;  // the vertical stride of a source whose lanes have addresses of their own
constexpr uint32_t kEarlyOut = 0xff;      // the flag modifier of math.invm and math.rsqtm
constexpr uint32_t kAccumulatorWrite = 0, kEndOfThread = 4;  // instruction options
}  // namespace iga

struct Iga {
  KernelView* (*create)(int platform, const void* bytes, size_t size, int* status, char* error, size_t capacity,
                        uint32_t scoreboard);
  void (*destroy)(KernelView*);
  int32_t (*size)(const KernelView*, int32_t pc);
  size_t (*syntax)(const KernelView*, int32_t pc, char* text, size_t capacity, uint32_t options,
                   const char* (*label)(int32_t, void*), void* environment);
  uint32_t (*targets)(const KernelView*, int32_t pc, int32_t* pcs);
  bool (*has_option)(const KernelView*, int32_t pc, uint32_t option);
  uint32_t (*send_descriptors)(const KernelView*, int32_t pc, uint32_t* extended, uint32_t* descriptor);
  int32_t (*send_offset)(const KernelView*, int32_t pc, uint32_t* packed);
  int32_t (*send_indirect)(const KernelView*, int32_t pc, uint8_t* ex_reg, uint8_t* ex_sub, uint8_t* reg, uint8_t* sub);
  uint32_t (*execution_size)(const KernelView*, int32_t pc);
  int32_t (*source_count)(const KernelView*, int32_t pc);
  uint32_t (*opcode)(const KernelView*, int32_t pc);
  int32_t (*subfunction)(const KernelView*, int32_t pc, uint32_t* value);
  int32_t (*has_destination)(const KernelView*, int32_t pc);
  int32_t (*destination_register)(const KernelView*, int32_t pc);
  int32_t (*destination_sub_register)(const KernelView*, int32_t pc);
  uint32_t (*destination_type)(const KernelView*, int32_t pc);
  uint32_t (*destination_name)(const KernelView*, int32_t pc);
  uint32_t (*destination_kind)(const KernelView*, int32_t pc);
  int32_t (*destination_stride)(const KernelView*, int32_t pc, uint32_t* stride);
  int32_t (*destination_offset)(const KernelView*, int32_t pc, int16_t* offset);
  int32_t (*destination_macro)(const KernelView*, int32_t pc, int16_t* number);
  uint32_t (*destination_modifier)(const KernelView*, int32_t pc);
  int32_t (*source_register)(const KernelView*, int32_t pc, uint32_t source);
  int32_t (*source_sub_register)(const KernelView*, int32_t pc, uint32_t source);
  uint32_t (*source_type)(const KernelView*, int32_t pc, uint32_t source);
  uint32_t (*source_name)(const KernelView*, int32_t pc, uint32_t source);
  uint32_t (*source_kind)(const KernelView*, int32_t pc, uint32_t source);
  int32_t (*source_is_vector)(const KernelView*, int32_t pc, uint32_t source);
  int32_t (*source_region)(const KernelView*, int32_t pc, uint32_t source, uint32_t* v, uint32_t* w, uint32_t* h);
  int32_t (*source_immediate)(const KernelView*, int32_t pc, uint32_t source, uint64_t* bits);
  int32_t (*source_offset)(const KernelView*, int32_t pc, uint32_t source, int16_t* offset);
  int32_t (*source_macro)(const KernelView*, int32_t pc, uint32_t source, int16_t* number);
  uint32_t (*source_modifier)(const KernelView*, int32_t pc, uint32_t source);
  uint32_t (*channel_offset)(const KernelView*, int32_t pc);
  uint32_t (*mask_control)(const KernelView*, int32_t pc);
  uint32_t (*flag_modifier)(const KernelView*, int32_t pc);
  int32_t (*flag_register)(const KernelView*, int32_t pc);
  int32_t (*flag_sub_register)(const KernelView*, int32_t pc);
  uint32_t (*predicate)(const KernelView*, int32_t pc);
  uint32_t (*predicate_inverse)(const KernelView*, int32_t pc);
  int32_t (*sync_function)(const KernelView*, int32_t pc);
  int (*opcode_entry)(int platform, uint32_t opcode, const OpcodeEntry** entry);
  int (*mnemonic)(const OpcodeEntry* entry, char* text, size_t* capacity);

  // The library, loaded at the first call; nullptr if it is missing, and `why` says so in one line.
  static const Iga* get(std::string* why);
};

}  // namespace ishmem_emulator::eu
