#include "kernel.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

namespace simulator {

// The parts of a name that numba has mangled: lengths and texts. numba-dpex appends "$" and a number.
std::string readableName(const std::string &mangled) {
  std::string name;
  for (size_t at = mangled.compare(0, 3, "_ZN") ? mangled.size() : 3; at < mangled.size() && isdigit(mangled[at]);) {
    char *text;
    size_t size = strtoul(&mangled[at], &text, 10);
    at = (size_t)(text - mangled.data());
    name += (name.empty() ? "" : ".") + mangled.substr(at, size).substr(0, mangled.substr(at, size).rfind("_24"));
    at += std::min(size, mangled.size() - at);
  }
  return name.empty() ? mangled : name;
}

ZE_API ze_result_t zeKernelCreate(ze_module_handle_t module, const ze_kernel_desc_t *desc,
                                  ze_kernel_handle_t *kernel) {
  if (auto error = checkCall(__func__, {module}, {desc, kernel})) return error;
  if (!desc->pKernelName) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  auto info = module->info.kernels.find(desc->pKernelName);
  if (info == module->info.kernels.end()) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  int32_t error = 0;
  cl_object code = openCl()->clCreateKernel(module->program, desc->pKernelName, &error);
  if (error) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  uint32_t next = (uint32_t)info->second.parameters.size();
  for (auto &constant : info->second.constants) openCl()->clSetKernelArg(code, next++, constant.size(), constant.data());
  *kernel = new Kernel;
  (*kernel)->code.reset(new KernelCode{info->first, info->second, code, module->barriers, {}});
  (*kernel)->arguments.resize(info->second.parameters.size());
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeKernelDestroy(ze_kernel_handle_t kernel) { return destroy(__func__, kernel); }

ZE_API ze_result_t zeKernelSetArgumentValue(ze_kernel_handle_t kernel, uint32_t index, size_t size,
                                            const void *value) {
  if (auto error = checkCall(__func__, {kernel})) return error;
  if (index >= kernel->arguments.size()) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
  bool pointer = kernel->code->info.parameters[index].kind == Parameter::pointer;
  if (size == 0 || (pointer && value && size != sizeof(void *))) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
  Argument &argument = kernel->arguments[index];
  argument.set = true;
  argument.size = size;
  argument.bytes.assign((const char *)value, value ? size : 0);
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeKernelSetGroupSize(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  if (auto error = checkCall(__func__, {kernel})) return error;
  bool fits = x && y && z && x <= maxGroupSize && y <= maxGroupSize && (uint64_t)x * y * z <= maxGroupSize;
  auto &required = kernel->code->info.groupSize;
  std::array<uint32_t, 3> asked = {x, y, z};
  if (!fits || (required[0] && required != asked)) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  kernel->groupSize = {x, y, z};
  return ZE_RESULT_SUCCESS;
}

// The largest divisor of `count` that is at most `limit`.
static uint32_t largestDivisor(uint32_t count, uint32_t limit) {
  for (uint32_t divisor = limit < count ? limit : count; divisor > 1; --divisor)
    if (count % divisor == 0) return divisor;
  return 1;
}

ZE_API ze_result_t zeKernelSuggestGroupSize(ze_kernel_handle_t kernel, uint32_t sizeX, uint32_t sizeY,
                                            uint32_t sizeZ, uint32_t *x, uint32_t *y, uint32_t *z) {
  if (auto error = checkCall(__func__, {kernel}, {x, y, z})) return error;
  std::array<uint32_t, 3> group = kernel->code->info.groupSize;
  if (!group[0]) {
    const uint32_t limit = 256;
    group[0] = largestDivisor(sizeX, limit);
    group[1] = largestDivisor(sizeY, limit / group[0]);
    group[2] = largestDivisor(sizeZ, limit / group[0] / group[1]);
  }
  *x = group[0], *y = group[1], *z = group[2];
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeKernelSetGlobalOffsetExp(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z) {
  if (auto error = checkCall(__func__, {kernel})) return error;
  kernel->offset = {x, y, z};
  return ZE_RESULT_SUCCESS;
}

// Kernels can access all memory without this; only the arguments are checked.
ZE_API ze_result_t zeKernelSetIndirectAccess(ze_kernel_handle_t kernel, uint32_t flags) {
  if (auto error = checkCall(__func__, {kernel})) return error;
  if (flags > 7) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeKernelSetCacheConfig(ze_kernel_handle_t kernel, uint32_t) {
  return checkCall(__func__, {kernel});
}

ZE_API ze_result_t zeKernelGetName(ze_kernel_handle_t kernel, size_t *size, char *name) {
  if (auto error = checkCall(__func__, {kernel})) return error;
  return answerString(kernel->code->name, size, name);
}

static uint32_t kernelBytes(cl_object kernel, uint32_t what) {
  uint64_t bytes = 0;
  openCl()->clGetKernelWorkGroupInfo(kernel, openCl()->device, what, sizeof bytes, &bytes, nullptr);
  return (uint32_t)bytes;
}

// The work-items of a sub-group: those that the runtime executes as one vector.
static uint32_t subgroupSize(const KernelCode &code) {
  if (code.info.subgroupSize) return code.info.subgroupSize;
  const size_t group = maxGroupSize;
  size_t size = 0;
  openCl()->clGetKernelSubGroupInfo(code.kernel, openCl()->device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof group,
                                    &group, sizeof size, &size, nullptr);
  return size ? (uint32_t)size : maxSubgroupSize;
}

ZE_API ze_result_t zeKernelGetProperties(ze_kernel_handle_t kernel, ze_kernel_properties_t *p) {
  if (auto error = checkCall(__func__, {kernel}, {p})) return error;
  const KernelCode &code = *kernel->code;
  p->numKernelArgs = (uint32_t)kernel->arguments.size();
  p->requiredGroupSizeX = code.info.groupSize[0];
  p->requiredGroupSizeY = code.info.groupSize[1];
  p->requiredGroupSizeZ = code.info.groupSize[2];
  p->requiredNumSubGroups = 0;
  p->requiredSubgroupSize = code.info.subgroupSize;
  p->maxSubgroupSize = subgroupSize(code);
  p->maxNumSubgroups = maxGroupSize / p->maxSubgroupSize;
  p->localMemSize = kernelBytes(code.kernel, CL_KERNEL_LOCAL_MEM_SIZE) - (code.barriers ? barrierTables : 0);
  p->privateMemSize = kernelBytes(code.kernel, CL_KERNEL_PRIVATE_MEM_SIZE);
  p->spillMemSize = 0;
  p->uuid = {};
  auto *preferred = chained<ze_kernel_preferred_group_size_properties_t>(
      p, ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES);
  if (preferred) preferred->preferredMultiple = p->maxSubgroupSize;
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
