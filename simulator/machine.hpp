// The machine code of modules, from the on-disk cache or the compiler.
#pragma once

#include <functional>

#include "compile.hpp"

namespace simulator {

// Returns machine code for which `load` returned true, and the compilation log.
Compiled machineCode(const std::vector<ModuleInput> &inputs, const std::function<bool(const std::string &)> &load);

}  // namespace simulator
