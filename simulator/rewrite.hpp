// Rewrites modules before the OpenCL CPU runtime compiles them. readSpirv must have accepted the module.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module.hpp"

namespace simulator {

// Widens the selectors of switches to 8, 16, 32 or 64 bits.
std::string withPlainSwitches(const std::string &spirv);

// Removes the fences of barriers, atomic loads and atomic stores that are not sequentially consistent.
std::string withFewFences(const std::string &spirv);

// Checks that all work-items of a work-group reach the same barriers: see barriers.cpp.
std::string withCheckedBarriers(const std::string &spirv);

// Whether kernels of a module use sub-groups.
bool usesSubGroups(const std::string &spirv);

// Whether a module has kernels that ask for the place of a work-item in its work-group.
bool usesWorkGroups(const std::string &spirv);

// Turns specialisation constants into additional kernel parameters, so that the machine code does not depend on their
// values. Changes the module and returns the values of these parameters by kernel. Constants that types or other
// constants depend on are not changed.
std::map<std::string, std::vector<std::string>> constantsToParameters(ModuleInput &input);

}  // namespace simulator
