// Modules: OpenCL programs and the information that the driver reads from their SPIR-V.
#pragma once

#include "driver.hpp"
#include "opencl.hpp"
#include "spirv.hpp"

namespace simulator {

// One SPIR-V module of a program with its build flags and specialisation constants.
struct ModuleInput {
  std::string spirv, flags;
  std::map<uint32_t, std::string> constants;  // values of specialisation constants, by SpecId
};

struct Module {
  std::vector<ModuleInput> inputs;
  ModuleInfo info;
  cl_object program = nullptr;
  const volatile uint32_t *barriers = nullptr;  // the record of barrier_record.hpp, if its kernels have barriers
  std::string log;

  ~Module() {
    if (program) openCl()->clReleaseProgram(program);
  }
};

struct BuildLog {
  std::string text;
};

// The native binary of a module holds its inputs, not machine code.
std::string writeNative(const std::vector<ModuleInput> &inputs);
bool readNative(const std::string &binary, std::vector<ModuleInput> &inputs);

// Reads the module's inputs and builds its program.
ze_result_t build(Module &module);

}  // namespace simulator
