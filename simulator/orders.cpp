// Removes fences that x86 does not need. The OpenCL CPU runtime executes a full fence for every atomic load and for every
// memory barrier, whatever its order; in a group, each work-item executes it, which takes longer than small operations.
#include <map>
#include <set>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

namespace {

enum : uint32_t { ordered = 0x2 | 0x4 | 0x8 | 0x10, sequential = 0x10, volatileAligned = 0x1 | 0x2 };

class Orders {
 public:
  explicit Orders(const std::string &spirv) : in_(spirv), out_(in_) {}
  std::string reduced();

 private:
  void read(const Instruction &i);
  bool has(uint32_t semantics, uint32_t order) const;
  bool isPlain(const Instruction &i) const;

  Words in_;
  NewWords out_;
  std::map<uint32_t, uint32_t> bytes_;      // sizes of integer types by type id
  std::map<uint32_t, uint32_t> constants_;  // first words of constants by id
};

void Orders::read(const Instruction &i) {
  if (i.op() == OpTypeInt) bytes_[i[1]] = i[2] / 8;
  if (i.op() == OpConstant) constants_[i[2]] = i[3];
}

// Whether memory semantics may have one of these orders.
bool Orders::has(uint32_t semantics, uint32_t order) const {
  auto found = constants_.find(semantics);
  return found == constants_.end() || found->second & order;
}

// Whether an instruction is a relaxed atomic load, which is a plain load on x86. It must not be removed or repeated.
bool Orders::isPlain(const Instruction &i) const {
  return i.op() == OpAtomicLoad && i.size() == 6 && bytes_.count(i[1]) && !has(i[5], ordered);
}

std::string Orders::reduced() {
  for (size_t at = 0; at < in_.instructions.size(); ++at) {
    const Instruction &i = in_.instructions[at];
    const bool atBarrier = at + 1 < in_.instructions.size() && in_.instructions[at + 1].op() == OpControlBarrier;
    read(i);
    // x86 keeps the order of stores, and the compiler moves no store over a barrier of the group.
    const bool needless = i.op() == OpMemoryBarrier && i.size() == 3 && !has(i[2], sequential);
    if (needless && atBarrier) continue;
    if (isPlain(i))
      out_.emit(OpLoad, {i[1], i[2], i[3], volatileAligned, bytes_.at(i[1])});
    else
      out_.append(i);
  }
  return out_.bytes();
}

}  // namespace

std::string withFewFences(const std::string &spirv) { return Orders(spirv).reduced(); }

}  // namespace simulator
