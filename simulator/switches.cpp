// Widens switches on integers of unusual widths. LLVM narrows the selector of a switch to the bits that matter, such as
// 2 or 63, and the OpenCL CPU runtime's compiler crashes on widths other than 8, 16, 32 and 64.
#include <map>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

class Switches {
 public:
  explicit Switches(const std::string &spirv) : in_(spirv), out_(in_) {}
  bool find();
  std::string widened();

 private:
  uint32_t width(const Instruction &select) const;
  std::vector<uint64_t> literals(const Instruction &select, size_t words) const;
  void declareTypes();
  void widen(const Instruction &select, size_t at);

  Words in_;
  NewWords out_;
  std::map<uint32_t, uint32_t> widths_;  // widths of integer types by type id
  std::map<uint32_t, uint32_t> odd_;     // unusual widths of values by value id
  std::map<uint32_t, bool> labels_;
  uint32_t types_[2] = {0, 0};  // ids of the 32-bit and 64-bit integer types
};

static bool isOdd(uint32_t width) { return width != 8 && width != 16 && width != 32 && width != 64; }

// Finds values of unusual widths. Returns whether the module switches on one.
bool Switches::find() {
  bool found = false;
  for (auto &i : in_.instructions) {
    if (i.op() == OpTypeInt && i.size() > 2) {
      widths_[i[1]] = i[2];
      if (i[2] == 32 || i[2] == 64) types_[i[2] / 64] = i[1];
    } else if (i.op() == OpLabel) {
      labels_[i[1]] = true;
    } else if (i.size() > 2) {  // word 1 is the result type if it is the id of an integer type
      auto width = widths_.find(i[1]);
      if (width != widths_.end() && isOdd(width->second)) odd_[i[2]] = width->second;
    }
  }
  for (auto &i : in_.instructions) found |= i.op() == OpSwitch && width(i);
  return found;
}

// The width of the selector if it is unusual, else 0.
uint32_t Switches::width(const Instruction &select) const {
  auto found = odd_.find(select[1]);
  return found == odd_.end() || found->second > 64 ? 0 : found->second;
}

// The case literals, of one or two words each: translators differ for selectors above 32 bits. A label follows each
// literal; the result is empty if `words` does not match that layout.
std::vector<uint64_t> Switches::literals(const Instruction &select, size_t words) const {
  std::vector<uint64_t> values;
  const size_t step = words + 1;
  if ((select.size() - 3) % step) return values;
  for (size_t at = 3; at < select.size(); at += step) {
    if (!labels_.count(select[at + words])) return {};
    uint64_t value = select[at] | (words == 2 ? (uint64_t)select[at + 1] << 32 : 0);
    values.push_back(value & (UINT64_MAX >> (64 - width(select))));
  }
  return values;
}

void Switches::widen(const Instruction &select, size_t at) {
  size_t words = 1;
  std::vector<uint64_t> values = literals(select, words);
  if (values.empty()) values = literals(select, words = 2);
  if (values.empty() && select.size() > 3) return out_.append(select);  // not valid: leave it to the compiler
  const bool wide = width(select) > 32;
  const uint32_t id = out_.newId();
  std::vector<uint32_t> operands = {id, select[2]};
  for (size_t i = 0; i < values.size(); ++i) {
    operands.push_back((uint32_t)values[i]);
    if (wide) operands.push_back((uint32_t)(values[i] >> 32));
    operands.push_back(select[3 + (words + 1) * i + words]);
  }
  out_.emit(OpUConvert, {types_[wide], id, select[1]}, at);
  out_.emit(OpSwitch, operands);
}

void Switches::declareTypes() {
  for (uint32_t wide = 0; wide < 2; ++wide) {
    if (types_[wide]) continue;
    out_.emit(OpTypeInt, {types_[wide] = out_.newId(), wide ? 64u : 32u, 0});
    if (wide) out_.emit(OpCapability, {11}, spirvHeader);  // the capability Int64
  }
}

std::string Switches::widened() {
  size_t last = 0;
  uint32_t before = 0;
  for (auto &i : in_.instructions) {
    if (in_.isFirstFunction(i)) declareTypes();
    // No instruction may stand between a merge and its branch: the conversion goes before the merge.
    const bool merge = before == OpSelectionMerge || before == OpLoopMerge;
    const size_t at = merge ? last : out_.place();
    last = out_.place();
    before = i.op();
    if (i.op() == OpSwitch && width(i))
      widen(i, at);
    else
      out_.append(i);
  }
  return out_.bytes();
}

}  // namespace

std::string withPlainSwitches(const std::string &spirv) {
  Switches switches(spirv);
  return switches.find() ? switches.widened() : spirv;
}

}  // namespace simulator
