// Makes relaxed atomic loads volatile loads. On x86 an aligned load is atomic, but the OpenCL CPU runtime executes a full
// fence before every atomic load, which takes longer than everything else that a work-item does in a small operation.
#include <map>
#include <set>

#include "rewrite.hpp"
#include "words.hpp"

namespace simulator {

enum : uint32_t { acquireOrStronger = 0x2 | 0x4 | 0x8 | 0x10, volatileAligned = 0x1 | 0x2 };

std::string withPlainLoads(const std::string &spirv) {
  const Words in(spirv);
  NewWords out(in);
  std::map<uint32_t, uint32_t> bytes;  // sizes of integer types by type id
  std::set<uint32_t> relaxed;          // constants that are semantics without an order
  for (auto &i : in.instructions) {
    if (i.op() == OpTypeInt) bytes[i[1]] = i[2] / 8;
    if (i.op() == OpConstant && !(i[3] & acquireOrStronger)) relaxed.insert(i[2]);
    auto size = i.op() == OpAtomicLoad && relaxed.count(i[5]) ? bytes.find(i[1]) : bytes.end();
    if (size == bytes.end())
      out.append(i);
    else
      out.emit(OpLoad, {i[1], i[2], i[3], volatileAligned, size->second});
  }
  return out.bytes();
}

}  // namespace simulator
