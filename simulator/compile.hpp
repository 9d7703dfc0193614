// The interface between the driver and the compiler process.
#pragma once

#include <functional>
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

// Returns machine code for which `load` returned true, from the cache on disk or the compiler process, and the log.
Compiled machineCode(const std::vector<ModuleInput> &inputs, const std::function<bool(const std::string &)> &load);

}  // namespace simulator
