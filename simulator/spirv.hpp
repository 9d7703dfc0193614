// What the driver must know of a SPIR-V module and OpenCL does not tell: names of kernels, kinds
// and sizes of their parameters, required group sizes, sizes of specialisation constants.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace simulator {

struct Parameter {
  enum Kind { value, pointer, local } kind;
  uint32_t size;  // of a value; 0: not known
};

struct KernelInfo {
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> groupSize{};  // required; zeros: none
  uint32_t subgroupSize = 0;            // required; 0: none
  std::vector<std::string> constants;   // values of the parameters that follow, see rewrite.hpp
};

struct ModuleInfo {
  std::map<std::string, KernelInfo> kernels;
  std::map<uint32_t, uint32_t> constantSizes;  // specialisation constants, by their SpecId
};

// Adds what a module says to info. Returns what is wrong with the module, or an empty string.
std::string readSpirv(const std::string &bytes, ModuleInfo &info);

}  // namespace simulator
