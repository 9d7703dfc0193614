// Turns specialisation constants into kernel parameters. Each function that uses a constant, directly or through a
// callee, gets a parameter for it.
#include <algorithm>
#include <set>
#include <tuple>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

// A specialisation constant: SpecId, type, and bytes of the default.
using Constant = std::tuple<uint32_t, uint32_t, std::string>;

struct FunctionFacts {
  std::vector<uint32_t> uses;         // ids of constants used in the body
  std::set<uint32_t> calls;           // ids of called functions
  std::set<Constant> needs;           // of the function and its callees
  std::map<Constant, uint32_t> ids;   // parameter ids by constant
};

class Constants {
 public:
  Constants(ModuleInput &input, const ModuleInfo &info) : input_(input), info_(info), in_(input.spirv), out_(in_) {}
  bool find();
  void rewrite();
  std::map<std::string, std::vector<std::string>> values() const;

 private:
  void declaration(const Instruction &i);
  void body(const Instruction &i);
  void use(uint32_t id);
  void spread();
  void declareTypes();
  uint32_t widerType(const Instruction &function, const FunctionFacts &facts);
  void emitDeclaration(const Instruction &i);
  void emitBody(const Instruction &i);
  void emitParameters();
  void emitCopies();

  ModuleInput &input_;
  const ModuleInfo &info_;
  Words in_;
  NewWords out_;
  std::map<uint32_t, uint32_t> specIds_;
  std::map<uint32_t, Constant> constants_;           // by id
  std::map<uint32_t, uint32_t> user_;                // the only function that uses a constant, by constant id
  std::map<uint32_t, FunctionFacts> functions_;
  std::map<uint32_t, std::vector<uint32_t>> types_;  // function types: result and parameters
  std::map<std::string, uint32_t> kernels_;          // function ids by name
  std::set<uint32_t> pinned_;                        // ids that must not be rewritten
  uint32_t function_ = 0;                            // the current function
  bool parameters_ = false, first_ = false;          // its parameters, its copies are not yet emitted
};

// The index of an instruction's first literal. The operands before it may be ids.
size_t literals(const Instruction &i) {
  switch (i.op()) {
    case OpLine: return 1;
    case OpLoad: return 4;
    case OpStore: case OpSwitch: return 3;
    case OpCompositeExtract: case OpBranchConditional: return 4;
    case OpCompositeInsert: return 5;
    default: return i.size();
  }
}

// The index of the first operand of a declaration that may refer to a constant or a function.
size_t references(const Instruction &i) {
  switch (i.op()) {
    case OpTypeArray: case OpConstantComposite: case OpSpecConstantComposite: case OpSpecConstantOp: return 3;
    case OpVariable: return 4;
    case OpName: case OpMemberName: case OpString: case OpSource: case OpExtension: case OpExtInstImport:
    case OpMemoryModel: case OpEntryPoint: case OpExecutionMode: case OpCapability: case OpDecorate:
    case OpMemberDecorate: case OpTypeVoid: case OpTypeBool: case OpTypeInt: case OpTypeFloat: case OpTypeVector:
    case OpTypeStruct: case OpTypePointer: case OpTypeFunction: case OpConstantTrue: case OpConstantFalse:
    case OpConstant: case OpConstantNull: case OpSpecConstantTrue: case OpSpecConstantFalse: case OpSpecConstant:
      return i.size();
    default: return 1;
  }
}

void Constants::declaration(const Instruction &i) {
  if (i.op() == OpTypeFunction) types_[i[1]].assign(i.begin() + 2, i.end());
  if (i.op() == OpEntryPoint && i[1] == executionModelKernel) kernels_[(const char *)(i.words + 3)] = i[2];
  if (i.op() == OpDecorate && i[2] == decorationSpecId) specIds_[i[1]] = i[3];
  if (i.op() == OpSpecConstant) {
    auto specId = specIds_.find(i[2]);
    auto size = specId == specIds_.end() ? info_.constantSizes.end() : info_.constantSizes.find(specId->second);
    if (size != info_.constantSizes.end() && size->second <= (i.size() - 3) * 4)
      constants_[i[2]] = {specId->second, i[1], std::string((const char *)(i.words + 3), size->second)};
  }
  for (size_t at = references(i); at < i.size(); ++at) pinned_.insert(i[at]);
}

void Constants::use(uint32_t id) {
  if (!constants_.count(id)) return;
  auto user = user_.emplace(id, function_);
  if (user.second)
    functions_[function_].uses.push_back(id);
  else if (user.first->second != function_)
    pinned_.insert(id);  // an id cannot be defined in two functions
}

void Constants::body(const Instruction &i) {
  if (i.op() == OpFunction) functions_[function_ = i[2]];
  if (i.op() == OpFunctionCall) functions_[function_].calls.insert(i[3]);
  if (i.op() == OpVariable) return (void)pinned_.insert(i.begin() + std::min<size_t>(4, i.size()), i.end());
  for (size_t at = 1; at < std::min<size_t>(literals(i), i.size()); ++at) use(i[at]);
}

// Adds the constants that the callees of a function need to those it needs, until nothing changes.
void Constants::spread() {
  for (auto &function : functions_)
    for (uint32_t id : function.second.uses)
      if (!pinned_.count(id)) function.second.needs.insert(constants_[id]);
  for (bool grown = true; grown;) {
    grown = false;
    for (auto &function : functions_) {
      auto &needs = function.second.needs;
      const size_t before = needs.size();
      for (uint32_t called : function.second.calls) {
        auto &more = functions_.at(called).needs;
        needs.insert(more.begin(), more.end());
      }
      grown |= needs.size() > before;
    }
  }
}

// Reads the module. Returns whether it has constants to rewrite and all functions that need them can be changed.
bool Constants::find() {
  bool bodies = false;
  for (auto &i : in_.instructions) {
    bodies |= i.op() == OpFunction;
    bodies ? body(i) : declaration(i);
  }
  spread();
  bool any = false;
  for (auto &function : functions_) {
    if (function.second.needs.empty()) continue;
    any = true;
    if (pinned_.count(function.first)) return false;  // called through a pointer: its type must stay
  }
  return any;
}

uint32_t Constants::widerType(const Instruction &function, const FunctionFacts &facts) {
  std::vector<uint32_t> wanted = types_[function[4]];
  for (auto &constant : facts.needs) wanted.push_back(std::get<1>(constant));
  for (auto &type : types_)
    if (type.second == wanted) return type.first;
  const uint32_t id = out_.newId();
  types_[id] = wanted;
  wanted.insert(wanted.begin(), id);
  out_.emit(OpTypeFunction, wanted);
  return id;
}

// Declares the new function types and reserves the ids of the new parameters.
void Constants::declareTypes() {
  for (auto &i : in_.instructions) {
    if (i.op() != OpFunction) continue;
    FunctionFacts &facts = functions_[i[2]];
    if (!facts.needs.empty()) widerType(i, facts);
    for (auto &constant : facts.needs) facts.ids[constant] = out_.newId();
  }
}

void Constants::emitDeclaration(const Instruction &i) {
  const bool names = i.op() == OpSpecConstant || (i.op() == OpDecorate && i.size() > 3 && i[2] == decorationSpecId);
  const uint32_t id = names ? i[i.op() == OpDecorate ? 1 : 2] : 0;
  if (!constants_.count(id) || pinned_.count(id)) return out_.append(i);
  if (i.op() != OpSpecConstant || user_.count(id)) return;
  std::vector<uint32_t> unused(i.size() - 1, 0);  // zero, so that the module does not depend on its value
  unused[0] = i[1], unused[1] = id;
  out_.emit(OpConstant, unused);
}

void Constants::emitParameters() {
  for (auto &parameter : functions_[function_].ids)
    out_.emit(OpFunctionParameter, {std::get<1>(parameter.first), parameter.second});
  parameters_ = false;
}

void Constants::emitCopies() {
  const FunctionFacts &facts = functions_[function_];
  for (uint32_t id : facts.uses) {
    const Constant &constant = constants_[id];
    if (!pinned_.count(id)) out_.emit(OpCopyObject, {std::get<1>(constant), id, facts.ids.at(constant)});
  }
  first_ = false;
}

void Constants::emitBody(const Instruction &i) {
  const uint32_t op = i.op();
  if (parameters_ && op != OpFunctionParameter && op != OpLine && op != OpNoLine) {
    emitParameters();
    first_ = op == OpLabel;
  } else if (first_ && op != OpVariable && op != OpLine && op != OpNoLine) {
    emitCopies();
  }
  std::vector<uint32_t> operands(i.begin() + 1, i.end());
  if (op == OpFunction) {
    function_ = i[2];
    parameters_ = true;
    if (!functions_[function_].needs.empty()) operands[3] = widerType(i, functions_[function_]);
  }
  if (op == OpFunctionCall)
    for (auto &constant : functions_[i[3]].needs) operands.push_back(functions_[function_].ids.at(constant));
  out_.emit(op, operands);
}

void Constants::rewrite() {
  bool bodies = false;
  for (auto &i : in_.instructions) {
    if (in_.isFirstFunction(i)) declareTypes();
    bodies |= in_.isFirstFunction(i);
    bodies ? emitBody(i) : emitDeclaration(i);
  }
  input_.spirv = out_.bytes();
}

std::map<std::string, std::vector<std::string>> Constants::values() const {
  std::map<std::string, std::vector<std::string>> result;
  for (auto &kernel : kernels_) {
    auto function = functions_.find(kernel.second);
    if (function == functions_.end()) continue;
    for (auto &constant : function->second.needs) {
      auto given = input_.constants.find(std::get<0>(constant));
      result[kernel.first].push_back(given == input_.constants.end() ? std::get<2>(constant) : given->second);
    }
  }
  return result;
}

}  // namespace

std::map<std::string, std::vector<std::string>> constantsToParameters(ModuleInput &input) {
  ModuleInfo info;
  readSpirv(input.spirv, info);
  if (info.constantSizes.empty()) return {};
  Constants constants(input, info);
  if (!constants.find()) return {};
  constants.rewrite();
  auto values = constants.values();
  ModuleInfo left;
  readSpirv(input.spirv, left);
  for (auto it = input.constants.begin(); it != input.constants.end();)
    it = left.constantSizes.count(it->first) ? std::next(it) : input.constants.erase(it);
  return values;
}

}  // namespace simulator
