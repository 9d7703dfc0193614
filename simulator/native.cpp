// The native binary of a module: a signature, then numbers and length-prefixed strings.
#include "module.hpp"
#include "serial.hpp"

namespace simulator {

static const std::string mark = "ze_simulator native 1\n";

static bool take(const std::string &in, size_t &at, ModuleInput &input) {
  uint64_t count, id;
  if (!take(in, at, input.spirv) || !take(in, at, input.flags) || !take(in, at, count)) return false;
  for (uint64_t i = 0; i < count; ++i)
    if (!take(in, at, id) || !take(in, at, input.constants[(uint32_t)id])) return false;
  return true;
}

std::string writeNative(const std::vector<ModuleInput> &inputs) {
  std::string out = mark;
  for (auto &input : inputs) {
    put(out, input.spirv);
    put(out, input.flags);
    put(out, (uint64_t)input.constants.size());
    for (auto &constant : input.constants) {
      put(out, (uint64_t)constant.first);
      put(out, constant.second);
    }
  }
  return out;
}

bool readNative(const std::string &binary, std::vector<ModuleInput> &inputs) {
  if (binary.compare(0, mark.size(), mark) != 0) return false;
  for (size_t at = mark.size(); at < binary.size();) {
    inputs.emplace_back();
    if (!take(binary, at, inputs.back())) return false;
  }
  return !inputs.empty();
}

}  // namespace simulator
