// Reads from a SPIR-V module what OpenCL cannot be asked for: kernel names, kinds and sizes of their parameters,
// required group sizes, and sizes of specialisation constants.
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
  uint32_t size;  // size of a value in bytes; 0: not known
};

struct KernelInfo {
  std::vector<Parameter> parameters;
  std::array<uint32_t, 3> groupSize{};  // required; zeros: none
  uint32_t subgroupSize = 0;            // required; 0: none
  std::vector<std::string> constants;   // values of the additional parameters, see rewrite.hpp
};

struct ModuleInfo {
  std::map<std::string, KernelInfo> kernels;
  std::map<uint32_t, uint32_t> constantSizes;  // sizes of specialisation constants by SpecId
};

// Adds the facts about a module to info. Returns an error message, or an empty string.
std::string readSpirv(const std::string &bytes, ModuleInfo &info);

}  // namespace simulator
