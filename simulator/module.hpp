// Modules: programs of the OpenCL runtime with what the driver knows of their SPIR-V.
#pragma once

#include "driver.hpp"
#include "opencl.hpp"
#include "spirv.hpp"

namespace simulator {

// One SPIR-V module of a program, with what it is built with.
struct ModuleInput {
  std::string spirv, flags;
  std::map<uint32_t, std::string> constants;  // values of specialisation constants, by SpecId
};

struct Module {
  std::vector<ModuleInput> inputs;
  ModuleInfo info;
  cl_object program = nullptr;
  std::string log;
};

struct BuildLog {
  std::string text;
};

// The native binary of a module is what it was built from.
std::string writeNative(const std::vector<ModuleInput> &inputs);
bool readNative(const std::string &binary, std::vector<ModuleInput> &inputs);

// Reads the module's inputs and builds its program.
ze_result_t build(Module &module);

}  // namespace simulator
