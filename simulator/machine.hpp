// The machine code of modules: kept on disk, or compiled.
#pragma once

#include <functional>

#include "compile.hpp"

namespace simulator {

// Gives machine code that this process can load, as `load` says, and the log of its compilation.
Compiled machineCode(const std::vector<ModuleInput> &inputs, const std::function<bool(const std::string &)> &load);

}  // namespace simulator
