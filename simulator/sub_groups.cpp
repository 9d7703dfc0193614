// Finds out which kernels use sub-groups, and whether kernels use work-groups.
//
// The OpenCL CPU runtime makes sub-groups by its vectoriser: the work-items of a vector are a sub-group. Of a kernel that it
// does not vectorise, it emulates them, and variables in loops with operations of sub-groups get wrong values.
#include <algorithm>
#include <cctype>
#include <set>

#include "kernel.hpp"
#include "opencl.hpp"
#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

enum : uint32_t {
  imported = 1,
  modeSubgroupSize = 35,
  modeSubgroupsPerWorkgroup = 36,
  scopeSubgroup = 3,
};

bool between(uint32_t first, uint32_t value, uint32_t last) { return first <= value && value <= last; }

bool isBuiltIn(uint32_t number) {
  return between(36, number, 41) || between(4416, number, 4420);  // SubgroupSize to SubgroupLocalInvocationId, masks
}

// The operand that is the scope of an instruction, if it is a barrier or an operation of a group; else 0.
size_t scopeOperand(uint32_t op) {
  if (op == OpControlBarrier || between(6142, op, 6143)) return 1;  // and its two halves, by Intel
  const bool isOperation = between(OpGroupAll, op, OpGroupSMax) || between(6401, op, 6408);  // and KHR's multiplications
  return isOperation ? 3 : 0;
}

// Operations that only sub-groups have: OpGroupNonUniform, of KHR, AMD, NV and Intel.
bool isOfSubGroups(uint32_t op) {
  return between(333, op, 366) || between(4421, op, 4432) || between(5000, op, 5007) || op == 5296 ||
         between(5571, op, 5581) || op == 6221 || between(6231, op, 6237);
}

// The first operand of an instruction that may name a variable.
size_t firstPointer(uint32_t op) {
  const uint32_t copies[] = {61, 65, 66, 67, 70, 83, 121, 122, 123, 124};  // loads, access chains, copies, casts
  return op == OpFunctionCall || std::find(std::begin(copies), std::end(copies), op) != std::end(copies) ? 3 : SIZE_MAX;
}

bool namesSubGroups(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name.find("sub_group") != std::string::npos || name.find("subgroup") != std::string::npos;
}

class Finder {
 public:
  explicit Finder(const std::string &spirv) : words_(spirv) {
    for (auto &i : words_.instructions) read(i);
  }
  bool any() const { return !users_.empty(); }
  Kernels kernels(bool all);

 private:
  void read(const Instruction &i);
  void decorate(const Instruction &i);
  bool uses(const Instruction &i) const;

  Words words_;
  std::set<uint32_t> scopes_;     // constants that are the scope of sub-groups
  std::set<uint32_t> variables_;  // built-in variables and imported functions of sub-groups
  Kernels entries_;
  std::set<uint32_t> users_;      // functions and kernels that use sub-groups
  std::map<uint32_t, std::set<uint32_t>> calls_;
  uint32_t function_ = 0;
};

void Finder::decorate(const Instruction &i) {
  if (i[2] == decorationBuiltIn && isBuiltIn(i[3])) variables_.insert(i[1]);
  if (i[2] == decorationLinkage && i[i.size() - 1] == imported && namesSubGroups({(const char *)(i.words + 3), (const char *)i.end()}))
    variables_.insert(i[1]);
}

bool Finder::uses(const Instruction &i) const {
  if (isOfSubGroups(i.op())) return true;
  if (size_t operand = scopeOperand(i.op()); operand && scopes_.count(i[operand])) return true;
  for (size_t at = firstPointer(i.op()); at < i.size(); ++at)
    if (variables_.count(i[at])) return true;
  return false;
}

void Finder::read(const Instruction &i) {
  const uint32_t op = i.op();
  if (op == OpEntryPoint && i[1] == executionModelKernel) entries_[i[2]] = (const char *)(i.words + 3);
  if (op == OpExecutionMode && between(modeSubgroupSize, i[2], modeSubgroupsPerWorkgroup)) users_.insert(i[1]);
  if (op == OpDecorate) decorate(i);
  if (op == OpConstant && i[3] == scopeSubgroup) scopes_.insert(i[2]);
  if (op == OpFunction) function_ = i[2];
  if (op == OpFunctionCall) calls_[function_].insert(i[3]);
  if (function_ && uses(i)) users_.insert(function_);
  if (op == OpFunctionEnd) function_ = 0;
}

// Returns the kernels that use sub-groups, or all of them.
Kernels Finder::kernels(bool all) {
  for (size_t before = 0; before != users_.size();) {
    before = users_.size();
    for (auto &caller : calls_)
      for (uint32_t called : caller.second)
        if (users_.count(called)) users_.insert(caller.first);
  }
  Kernels found;
  for (auto &entry : entries_)
    if (all || users_.count(entry.first)) found.insert(entry);
  return found;
}

// The rest of the line of a text behind `begin`, from the first place of that; nothing if it is not there.
std::string lineAfter(const std::string &text, const std::string &begin) {
  const size_t at = text.find(begin);
  if (at == std::string::npos) return "";
  const size_t from = at + begin.size();
  return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

std::vector<Kernels> kernelsWithSubGroups(const std::vector<ModuleInput> &inputs) {
  std::vector<Kernels> found;
  bool all = false;
  if (inputs.size() > 1)
    for (auto &input : inputs) all |= Finder(input.spirv).any();
  for (auto &input : inputs) found.push_back(Finder(input.spirv).kernels(all));
  return found;
}

// Today's runtime calls a kernel vectorised whose sub-groups it emulates, but says how it has vectorised one.
std::string whyNotVectorised(const std::vector<ModuleInput> &inputs, const std::string &log) {
  const bool anyIs = !isCurrent() || log.find("-way vectorized") != std::string::npos;
  for (auto &kernels : kernelsWithSubGroups(inputs))
    for (auto &kernel : kernels) {
      const std::string quoted = "ernel \"" + kernel.second + '"';
      std::string why = lineAfter(log, 'k' + quoted + ": ");
      if (why.empty() && (!anyIs || log.find('K' + quoted + " was not vectorized") != std::string::npos))
        why = "it was not vectorised (is CL_CONFIG_CPU_VECTORIZER_MODE set?)";
      if (why.empty()) continue;
      return "kernel " + readableName(kernel.second) + " uses sub-groups, which the OpenCL CPU runtime makes by its "
             "vectoriser, and cannot make here: " + why + ". Use work-groups instead, or run the kernel on a GPU";
    }
  return "";
}

bool usesWorkGroups(const std::string &spirv) {
  const uint32_t localInvocationId = 27, localInvocationIndex = 29;
  Words words(spirv);
  for (auto &i : words.instructions)
    if (i.op() == OpDecorate && i[2] == decorationBuiltIn && (i[3] == localInvocationId || i[3] == localInvocationIndex))
      return true;
  return false;
}

}  // namespace simulator
