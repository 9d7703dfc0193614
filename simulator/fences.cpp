// Makes acquire and release fences free. The OpenCL CPU runtime compiles every memory barrier to mfence. x86 needs none
// where the barrier is not sequentially consistent: the compiler alone must not move accesses across it, which an empty
// assembler instruction with effects on memory says.
#include <set>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

enum : uint32_t {
  OpMemoryBarrier = 225,
  OpAsmTarget = 5609,
  OpAsm = 5610,
  OpAsmCall = 5611,
  capabilityAsm = 5606,
  decorationSideEffects = 5608,
  sequentiallyConsistent = 0x10
};

std::vector<uint32_t> literal(const std::string &text) {
  std::vector<uint32_t> words(text.size() / 4 + 1);
  memcpy(words.data(), text.data(), text.size());
  return words;
}

std::vector<uint32_t> joined(std::vector<uint32_t> first, const std::vector<uint32_t> &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class Fences {
 public:
  explicit Fences(const std::string &spirv) : in_(spirv), out_(in_) {}
  bool find();
  std::string freed();

 private:
  bool isFree(const Instruction &i) const { return i.op() == OpMemoryBarrier && weak_.count(i[2]); }
  void declare();

  Words in_;
  NewWords out_;
  std::set<uint32_t> weak_;  // ids of constants without the bit of sequential consistency
  uint32_t void_ = 0, function_ = 0;  // ids of the type void and of the type of functions void()
  uint32_t fence_ = 0;  // id of the assembler instruction
};

// Returns whether the module has a fence that can be left out.
bool Fences::find() {
  bool found = false;
  for (auto &i : in_.instructions) {
    if (i.op() == OpTypeVoid) void_ = i[1];
    if (i.op() == OpTypeFunction && i.size() == 3 && i[2] == void_) function_ = i[1];
    if (i.op() == OpConstant && i.size() == 4 && !(i[3] & sequentiallyConsistent)) weak_.insert(i[2]);
    found |= isFree(i);
  }
  return found && void_;
}

// Declares the assembler instruction, after the types and before the first function.
void Fences::declare() {
  if (!function_) out_.emit(OpTypeFunction, {function_ = out_.newId(), void_});
  const uint32_t target = out_.newId();
  out_.emit(OpAsmTarget, joined({target}, literal("x86_64")));
  const std::vector<uint32_t> head = {void_, fence_, function_, target};
  out_.emit(OpAsm, joined(joined(head, literal("")), literal("~{memory}")));
}

std::string Fences::freed() {
  fence_ = out_.newId();
  bool extension = false, decoration = false, functions = false;
  out_.emit(OpCapability, {capabilityAsm});
  for (auto &i : in_.instructions) {
    if (!extension && i.op() != OpCapability) {
      out_.emit(OpExtension, literal("SPV_INTEL_inline_assembly"));
      extension = true;
    }
    if (!decoration && i.op() >= OpTypeVoid && i.op() <= OpTypeFunction) {
      out_.emit(OpDecorate, {fence_, decorationSideEffects});
      decoration = true;
    }
    if (!functions && i.op() == OpFunction) {
      declare();
      functions = true;
    }
    if (isFree(i))
      out_.emit(OpAsmCall, {void_, out_.newId(), fence_});
    else
      out_.append(i);
  }
  return out_.bytes();
}

}  // namespace

std::string withFreeFences(const std::string &spirv) {
  Fences fences(spirv);
  return fences.find() ? fences.freed() : spirv;
}

}  // namespace simulator
