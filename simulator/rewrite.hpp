// What is done to a module before the OpenCL CPU runtime compiles it. Modules have been checked by readSpirv.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module.hpp"

namespace simulator {

// Switches are on integers of 8, 16, 32 or 64 bits.
std::string withPlainSwitches(const std::string &spirv);

// Specialisation constants become further parameters of kernels, so that the machine code is the same for all values.
// Changes the module and gives the values of these parameters by kernel. Constants that types or other constants are
// made of stay what they are.
std::map<std::string, std::vector<std::string>> constantsToParameters(ModuleInput &input);

}  // namespace simulator
