#include "spirv.hpp"

#include <algorithm>
#include <cstring>
#include <set>

#include "words.hpp"

namespace simulator {

namespace {

// Numbers from the SPIR-V specification, besides those of words.hpp.
enum : uint32_t {
  magicNumber = 0x07230203,
  largestBound = 1 << 22,
  largestConstant = 8,  // bytes; the application passes a pointer to the value
  lastAddressingModel = 2,
  memoryModelOpenCl = 2,
  executionModeLocalSize = 17,
  executionModeSubgroupSize = 35,
};

// The operands of one instruction. A read past the last operand marks the module as damaged.
class CheckedOperands {
 public:
  CheckedOperands(const uint32_t *words, size_t count, uint32_t bound) : words_(words), count_(count), bound_(bound) {}

  uint32_t number(size_t i) {
    if (i < count_) return words_[i];
    damaged_ = true;
    return 0;
  }

  uint32_t id(size_t i) {
    uint32_t value = number(i);
    if (value == 0 || value >= bound_) damaged_ = true;
    return value;
  }

  std::string string(size_t i) {
    const char *begin = (const char *)(words_ + std::min(i, count_));
    const char *limit = (const char *)(words_ + count_);
    const char *end = std::find(begin, limit, '\0');
    if (end == limit) damaged_ = true;
    return {begin, end};
  }

  void refuse() { damaged_ = true; }
  bool damaged() const { return damaged_; }

 private:
  const uint32_t *words_;
  size_t count_;
  uint32_t bound_;
  bool damaged_ = false;
};

class Reader {
 public:
  std::string read(const std::string &bytes);
  std::string collect(ModuleInfo &info) const;

 private:
  void instruction(uint32_t op, CheckedOperands &operands);
  void executionMode(CheckedOperands &operands);
  Parameter parameter(uint32_t type) const;

  std::map<uint32_t, uint32_t> sizes_;       // sizes of types in bytes
  std::map<uint32_t, uint32_t> storage_;     // storage classes of pointer types
  std::map<uint32_t, uint32_t> specIds_;     // SpecIds by constant id
  std::map<uint32_t, uint32_t> constants_;   // types of specialisation constants by id
  std::map<uint32_t, std::vector<uint32_t>> functions_;  // parameter types by function type
  std::map<uint32_t, std::set<std::string>> entryPoints_;
  std::map<uint32_t, KernelInfo> modes_;
  uint32_t function_ = 0;  // the current function
};

std::string Reader::read(const std::string &bytes) {
  if (bytes.size() % 4 || bytes.size() < 4 * spirvHeader) return "not a SPIR-V module";
  std::vector<uint32_t> words(bytes.size() / 4);
  memcpy(words.data(), bytes.data(), bytes.size());
  if (words[0] != magicNumber) return "not a SPIR-V module";
  uint32_t bound = words[3];
  if (words[4] != 0) return "the schema of instructions is unknown";
  if (bound == 0 || bound > largestBound) return "the bound of ids is out of range";
  for (size_t at = spirvHeader; at < words.size();) {
    size_t count = words[at] >> 16;
    if (count == 0 || count > words.size() - at) return "an instruction's length is wrong";
    CheckedOperands operands(&words[at] + 1, count - 1, bound);
    instruction(words[at] & 0xffff, operands);
    if (operands.damaged()) return "an instruction's operands are wrong";
    at += count;
  }
  return function_ ? "the last function has no end" : "";
}

void Reader::instruction(uint32_t op, CheckedOperands &in) {
  switch (op) {
    case OpMemoryModel:
      if (in.number(0) > lastAddressingModel || in.number(1) != memoryModelOpenCl) in.refuse();
      break;
    case OpEntryPoint:
      if (in.number(0) == executionModelKernel) entryPoints_[in.id(1)].insert(in.string(2));
      break;
    case OpExecutionMode: executionMode(in); break;
    case OpDecorate:
      if (in.number(1) == decorationSpecId) specIds_[in.id(0)] = in.number(2);
      break;
    case OpTypeBool: sizes_[in.id(0)] = 1; break;
    case OpTypeInt:
    case OpTypeFloat: sizes_[in.id(0)] = in.number(1) / 8; break;
    case OpTypeVector: sizes_[in.id(0)] = sizes_[in.id(1)] * (in.number(2) == 3 ? 4 : in.number(2)); break;
    case OpTypePointer: storage_[in.id(0)] = in.number(1); break;
    case OpSpecConstantTrue:
    case OpSpecConstantFalse:
    case OpSpecConstant: constants_[in.id(1)] = in.id(0); break;
    case OpFunction: functions_[function_ = in.id(1)].clear(); break;
    case OpFunctionParameter:
      if (function_) functions_[function_].push_back(in.id(0));
      break;
    case OpFunctionEnd: function_ = 0; break;
  }
}

void Reader::executionMode(CheckedOperands &in) {
  KernelInfo &mode = modes_[in.id(0)];
  if (in.number(1) == executionModeLocalSize) mode.groupSize = {in.number(2), in.number(3), in.number(4)};
  if (in.number(1) == executionModeSubgroupSize) mode.subgroupSize = in.number(2);
}

Parameter Reader::parameter(uint32_t type) const {
  auto size = sizes_.find(type);
  if (size != sizes_.end()) return {Parameter::value, size->second};
  auto storage = storage_.find(type);
  // A parameter that points to private memory is a structure passed by value.
  if (storage == storage_.end() || storage->second == storageFunction) return {Parameter::value, 0};
  return {storage->second == storageWorkgroup ? Parameter::local : Parameter::pointer, 0};
}

std::string Reader::collect(ModuleInfo &info) const {
  for (auto &entry : entryPoints_) {
    auto function = functions_.find(entry.first);
    if (function == functions_.end()) return "an entry point is no function";
    auto mode = modes_.find(entry.first);
    KernelInfo kernel = mode == modes_.end() ? KernelInfo() : mode->second;
    for (uint32_t type : function->second) kernel.parameters.push_back(parameter(type));
    for (auto &name : entry.second) info.kernels[name] = kernel;
  }
  for (auto &constant : constants_) {
    auto specId = specIds_.find(constant.first);
    auto size = sizes_.find(constant.second);
    if (specId == specIds_.end() || size == sizes_.end()) continue;
    if (size->second > largestConstant) return "a specialisation constant is too wide";
    info.constantSizes[specId->second] = size->second;
  }
  return "";
}

}  // namespace

std::string readSpirv(const std::string &bytes, ModuleInfo &info) {
  Reader reader;
  std::string damage = reader.read(bytes);
  return damage.empty() ? reader.collect(info) : damage;
}

}  // namespace simulator
