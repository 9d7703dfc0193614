// Removes fences that x86 does not need. The OpenCL CPU runtime executes a full fence (mfence) for every memory barrier,
// atomic load and atomic store, whatever its order. x86 keeps the order of loads and the order of stores, so where an
// operation is not sequentially consistent, it is enough that the compiler moves no access across it. The call of a
// function with an empty assembler instruction that has effects on memory says that, and a volatile access stands for an
// atomic load or store. The instruction itself in a kernel would crash the runtime's compiler, so the function is not
// inlined.
#include <map>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

enum : uint32_t {
  capabilityAsm = 5606,
  decorationSideEffects = 5608,
  acquire = 0x2 | 0x8,
  release = 0x4 | 0x8,
  sequential = 0x10,
  volatileAligned = 0x1 | 0x2,
  dontInline = 0x2
};

class Orders {
 public:
  explicit Orders(const std::string &spirv) : in_(spirv), out_(in_) {}
  bool find();
  std::string reduced();

 private:
  void read(const Instruction &i);
  uint32_t semantics(const Instruction &i) const;
  uint32_t bytes(const Instruction &i) const;
  bool isReducible(const Instruction &i) const;
  void declare();
  void define();
  void bindCompiler() { out_.emit(OpFunctionCall, {void_, out_.newId(), compilerFence_}); }
  void reduce(const Instruction &i);

  Words in_;
  NewWords out_;
  std::map<uint32_t, uint32_t> sizes_;      // bytes of integer types by type id
  std::map<uint32_t, uint32_t> types_;      // types of integer values by value id
  std::map<uint32_t, uint32_t> constants_;  // first words of constants by id
  uint32_t void_ = 0, function_ = 0;        // ids of the type void and of the type of functions void()
  uint32_t instruction_ = 0;                // id of the assembler instruction
  uint32_t compilerFence_ = 0;              // id of the function with it
};

void Orders::read(const Instruction &i) {
  if (i.op() == OpTypeVoid) void_ = i[1];
  if (i.op() == OpTypeFunction && i.size() == 3 && i[2] == void_) function_ = i[1];
  if (i.op() == OpTypeInt) sizes_[i[1]] = i[2] / 8;
  if (i.op() == OpConstant) constants_[i[2]] = i[3];
  if (i.size() > 2 && sizes_.count(i[1])) types_[i[2]] = i[1];
}

// The memory semantics of an operation that this file reduces; sequentially consistent if it is none or not constant.
uint32_t Orders::semantics(const Instruction &i) const {
  const size_t place = i.op() == OpMemoryBarrier ? 2 : i.op() == OpAtomicLoad ? 5 : i.op() == OpAtomicStore ? 3 : 0;
  auto found = place ? constants_.find(i[place]) : constants_.end();
  return found == constants_.end() ? sequential : found->second;
}

// The bytes that an atomic load or store moves; 0 if they are no integer.
uint32_t Orders::bytes(const Instruction &i) const {
  auto type = i.op() == OpAtomicLoad ? i[1] : 0;
  if (i.op() == OpAtomicStore && types_.count(i[4])) type = types_.at(i[4]);
  auto size = sizes_.find(type);
  return size == sizes_.end() ? 0 : size->second;
}

bool Orders::isReducible(const Instruction &i) const {
  return !(semantics(i) & sequential) && (i.op() == OpMemoryBarrier || bytes(i));
}

// Returns whether the module has an operation that can be reduced.
bool Orders::find() {
  bool found = false;
  for (auto &i : in_.instructions) {
    read(i);
    found |= isReducible(i);
  }
  return found && void_;
}

// Declares the assembler instruction, after the types and before the first function.
void Orders::declare() {
  if (!function_) out_.emit(OpTypeFunction, {function_ = out_.newId(), void_});
  const uint32_t target = out_.newId();
  out_.emit(OpAsmTargetINTEL, joined({target}, literal("x86_64")));
  const std::vector<uint32_t> head = {void_, instruction_, function_, target};
  out_.emit(OpAsmINTEL, joined(joined(head, literal("")), literal("~{memory}")));
}

// Defines the function with the assembler instruction.
void Orders::define() {
  out_.emit(OpFunction, {void_, compilerFence_, dontInline, function_});
  out_.emit(OpLabel, {out_.newId()});
  out_.emit(OpAsmCallINTEL, {void_, out_.newId(), instruction_});
  out_.emit(OpReturn, {});
  out_.emit(OpFunctionEnd, {});
}

void Orders::reduce(const Instruction &i) {
  const uint32_t order = semantics(i);
  if (i.op() == OpMemoryBarrier || (i.op() == OpAtomicStore && order & release)) bindCompiler();
  if (i.op() == OpAtomicStore) out_.emit(OpStore, {i[1], i[4], volatileAligned, bytes(i)});
  if (i.op() == OpAtomicLoad) out_.emit(OpLoad, {i[1], i[2], i[3], volatileAligned, bytes(i)});
  if (i.op() == OpAtomicLoad && order & acquire) bindCompiler();
}

std::string Orders::reduced() {
  instruction_ = out_.newId();
  compilerFence_ = out_.newId();
  bool extension = false;
  out_.emit(OpCapability, {capabilityAsm});
  for (auto &i : in_.instructions) {
    if (!extension && i.op() != OpCapability) {
      out_.emit(OpExtension, literal("SPV_INTEL_inline_assembly"));
      extension = true;
    }
    if (in_.isFirstType(i)) out_.emit(OpDecorate, {instruction_, decorationSideEffects});
    if (in_.isFirstFunction(i)) declare();
    if (isReducible(i))
      reduce(i);
    else
      out_.append(i);
  }
  define();
  return out_.bytes();
}

}  // namespace

std::string withFewFences(const std::string &spirv) {
  Orders orders(spirv);
  return orders.find() ? orders.reduced() : spirv;
}

}  // namespace simulator
