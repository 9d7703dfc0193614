// Finds out whether kernels use sub-groups and work-groups.
#include <set>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

enum : uint32_t {
  decorationBuiltIn = 11,
  subgroupSize = 36,
  subgroupLocalInvocationId = 41,
  OpGroupNonUniformElect = 333,
  OpGroupNonUniformQuadSwap = 366,
  OpSubgroupShuffleINTEL = 5571,
  OpSubgroupImageBlockWriteINTEL = 5578,
  scopeSubgroup = 3,
};

static bool between(uint32_t first, uint32_t value, uint32_t last) { return first <= value && value <= last; }

// The operand that is the scope of an instruction, if it is a barrier or an operation of a group; else 0.
static size_t scopeOperand(const Instruction &i) {
  if (i.op() == OpControlBarrier) return 1;
  return between(OpGroupAll, i.op(), OpGroupSMax) ? 3 : 0;
}

bool usesSubGroups(const std::string &spirv) {
  Words words(spirv);
  std::set<uint32_t> subgroup;  // the constants with this value
  for (auto &i : words.instructions) {
    if (i.op() == OpConstant && i[3] == scopeSubgroup) subgroup.insert(i[2]);
    if (i.op() == OpDecorate && i[2] == decorationBuiltIn && between(subgroupSize, i[3], subgroupLocalInvocationId))
      return true;
    if (between(OpGroupNonUniformElect, i.op(), OpGroupNonUniformQuadSwap)) return true;
    if (between(OpSubgroupShuffleINTEL, i.op(), OpSubgroupImageBlockWriteINTEL)) return true;
    if (size_t operand = scopeOperand(i); operand && subgroup.count(i[operand])) return true;
  }
  return false;
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
