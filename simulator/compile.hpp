// What passes between the driver and the process that compiles for it.
#pragma once

#include <string>
#include <vector>

#include "module.hpp"

namespace simulator {

struct Compiled {
  int32_t error = 0;  // of OpenCL; compilerEnded: the log says how
  std::string log, binary;
};

static const int32_t compilerEnded = 1;

// Compiles and links modules with the OpenCL CPU runtime, in this process.
Compiled compileHere(const std::vector<ModuleInput> &inputs);

// The same, in a process of its own: the runtime's compiler crashes on some modules.
Compiled compileElsewhere(const std::vector<ModuleInput> &inputs);

}  // namespace simulator
