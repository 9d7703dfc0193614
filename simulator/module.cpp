#include "module.hpp"

#include <cstring>

namespace simulator {

static std::map<uint32_t, std::string> readConstants(const ze_module_constants_t *constants,
                                                     const std::string &spirv) {
  std::map<uint32_t, std::string> values;
  if (!constants || constants->numConstants == 0) return values;
  ModuleInfo info;
  readSpirv(spirv, info);
  for (uint32_t i = 0; i < constants->numConstants; ++i) {
    auto size = info.constantSizes.find(constants->pConstantIds[i]);
    if (size == info.constantSizes.end()) continue;
    values[size->first].assign((const char *)constants->pConstantValues[i], size->second);
  }
  return values;
}

static ModuleInput makeInput(const uint8_t *data, size_t size, const char *flags,
                             const ze_module_constants_t *constants) {
  ModuleInput input;
  input.spirv.assign((const char *)data, size);
  input.flags = flags ? flags : "";
  input.constants = readConstants(constants, input.spirv);
  return input;
}

static ze_result_t readInputs(const ze_module_desc_t &desc, std::vector<ModuleInput> &inputs) {
  if (auto *many = chained<ze_module_program_exp_desc_t>(&desc, ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC)) {
    for (uint32_t i = 0; i < many->count; ++i)
      inputs.push_back(makeInput(many->pInputModules[i], many->inputSizes[i],
                                 many->pBuildFlags ? many->pBuildFlags[i] : nullptr,
                                 many->pConstants ? many->pConstants[i] : nullptr));
    return inputs.empty() ? ZE_RESULT_ERROR_INVALID_SIZE : ZE_RESULT_SUCCESS;
  }
  if (!desc.pInputModule) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc.inputSize == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (desc.format == ZE_MODULE_FORMAT_NATIVE) {
    std::string binary((const char *)desc.pInputModule, desc.inputSize);
    return readNative(binary, inputs) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
  }
  inputs.push_back(makeInput(desc.pInputModule, desc.inputSize, desc.pBuildFlags, desc.pConstants));
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device,
                                  const ze_module_desc_t *desc, ze_module_handle_t *module,
                                  ze_module_build_log_handle_t *log) {
  if (auto error = checkCall(__func__, {context, device}, {desc, module})) return error;
  if (desc->format > ZE_MODULE_FORMAT_NATIVE) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  auto *created = new Module;
  ze_result_t result = readInputs(*desc, created->inputs);
  if (result == ZE_RESULT_SUCCESS) result = build(*created);
  if (result == ZE_RESULT_ERROR_INVALID_NATIVE_BINARY)
    created->log = "a native binary that this driver has not made, such as machine code of a GPU, cannot be loaded";
  if (log) *log = new BuildLog{created->log};
  if (result == ZE_RESULT_SUCCESS) {
    *module = created;
    return result;
  }
  if (settings().trace) complain("zeModuleCreate failed: %s", created->log.c_str());
  delete created;
  return result;
}

ZE_API ze_result_t zeModuleDestroy(ze_module_handle_t module) { return destroy(__func__, module); }

// Does nothing: modules without imports need no linking.
ZE_API ze_result_t zeModuleDynamicLink(uint32_t, ze_module_handle_t *modules, ze_module_build_log_handle_t *log) {
  if (auto error = checkCall(__func__, {}, {modules})) return error;
  if (log) *log = new BuildLog;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeModuleGetProperties(ze_module_handle_t module, ze_module_properties_t *properties) {
  if (auto error = checkCall(__func__, {module}, {properties})) return error;
  properties->flags = 0;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeModuleBuildLogGetString(ze_module_build_log_handle_t log, size_t *size, char *text) {
  if (auto error = checkCall(__func__, {log})) return error;
  return answerString(log->text, size, text);
}

ZE_API ze_result_t zeModuleBuildLogDestroy(ze_module_build_log_handle_t log) { return destroy(__func__, log); }

// Ignores the size on entry, as Intel's driver does: the SYCL plugin passes 0 together with a buffer.
ZE_API ze_result_t zeModuleGetNativeBinary(ze_module_handle_t module, size_t *size, uint8_t *to) {
  if (auto error = checkCall(__func__, {module}, {size})) return error;
  std::string binary = writeNative(module->inputs);
  *size = binary.size();
  if (to) memcpy(to, binary.data(), binary.size());
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeModuleGetKernelNames(ze_module_handle_t module, uint32_t *count, const char **names) {
  if (auto error = checkCall(__func__, {module})) return error;
  auto &kernels = module->info.kernels;
  auto next = kernels.begin();
  return answerList((uint32_t)kernels.size(), count, names,
                    [&next](const char *&name, uint32_t) { name = (next++)->first.c_str(); });
}

ZE_API ze_result_t zeModuleGetGlobalPointer(ze_module_handle_t module, const char *name, size_t *size,
                                            void **address) {
  if (auto error = checkCall(__func__, {module}, {name})) return error;
  auto lookUp = openCl()->clGetDeviceGlobalVariablePointerINTEL;
  size_t foundSize = 0;
  void *found = nullptr;
  if (!lookUp || lookUp(openCl()->device, module->program, name, &foundSize, &found))
    return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
  if (size) *size = foundSize;
  if (address) *address = found;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeModuleGetFunctionPointer(ze_module_handle_t module, const char *name, void **address) {
  if (auto error = checkCall(__func__, {module}, {name, address})) return error;
  auto lookUp = openCl()->clGetDeviceFunctionPointerINTEL;
  uint64_t found = 0;
  if (!lookUp || lookUp(openCl()->device, module->program, name, &found))
    return ZE_RESULT_ERROR_INVALID_FUNCTION_NAME;
  *address = (void *)found;
  return ZE_RESULT_SUCCESS;
}

}  // namespace simulator
