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

// Names of kernels by the ids of their functions.
using Kernels = std::map<uint32_t, std::string>;

// The kernels of each module of a program that use sub-groups; of a program of several modules all, if any of them does.
std::vector<Kernels> kernelsWithSubGroups(const std::vector<ModuleInput> &inputs);

// Why sub-groups of a program do not work, by the log of its compilation; nothing if they do.
std::string whyNotVectorised(const std::vector<ModuleInput> &inputs, const std::string &log);

// Whether a module has kernels that ask for the place of a work-item in its work-group.
bool usesWorkGroups(const std::string &spirv);

// Turns specialisation constants into additional kernel parameters, so that the machine code does not depend on their
// values. Changes the module and returns the values of these parameters by kernel. Constants that types or other
// constants depend on are not changed.
std::map<std::string, std::vector<std::string>> constantsToParameters(ModuleInput &input);

}  // namespace simulator
