// The interface between the driver and the compiler process.
#pragma once

#include <string>
#include <vector>

#include "module.hpp"

namespace simulator {

struct Compiled {
  int32_t error = 0;  // an OpenCL error, or compilerEnded, with the reason in the log
  std::string log, binary;
};

static const int32_t compilerEnded = 1;

// Compiles and links modules with the OpenCL CPU runtime, in this process.
Compiled compileHere(const std::vector<ModuleInput> &inputs);

// Does the same in a separate process, because the runtime's compiler crashes on some modules.
Compiled compileElsewhere(const std::vector<ModuleInput> &inputs);

}  // namespace simulator
