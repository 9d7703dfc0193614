// Building a module's program with the OpenCL CPU runtime.
#include <sstream>

#include "module.hpp"

namespace simulator {

// Flags of the GPU compiler ("-ze-...", "-vc-...") mean nothing to the CPU runtime.
static std::string openClFlags(const std::string &flags) {
  std::istringstream words(flags);
  std::string kept;
  for (std::string word; words >> word;)
    if (word.compare(0, 3, "-cl") == 0) kept += word + " ";
  return kept;
}

static std::string buildLog(const OpenCl &cl, cl_object program) {
  size_t size = 0;
  if (!program || cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &size)) return "";
  std::string text(size, '\0');
  cl.clGetProgramBuildInfo(program, cl.device, CL_PROGRAM_BUILD_LOG, size, &text[0], nullptr);
  while (!text.empty() && text.back() == '\0') text.pop_back();
  return text;
}

static cl_object createProgram(const OpenCl &cl, const ModuleInput &input, int32_t *error) {
  cl_object program = cl.clCreateProgramWithIL(cl.context, input.spirv.data(), input.spirv.size(), error);
  if (*error) return nullptr;
  for (auto &constant : input.constants)
    cl.clSetProgramSpecializationConstant(program, constant.first, constant.second.size(), constant.second.data());
  return program;
}

static int32_t compile(const OpenCl &cl, const std::vector<ModuleInput> &inputs,
                       std::vector<cl_object> &programs, std::string &log) {
  for (auto &input : inputs) {
    int32_t error = 0;
    cl_object program = createProgram(cl, input, &error);
    if (error) return error;
    programs.push_back(program);
    std::string flags = openClFlags(input.flags);
    if (inputs.size() == 1)
      error = cl.clBuildProgram(program, 1, &cl.device, flags.c_str(), nullptr, nullptr);
    else
      error = cl.clCompileProgram(program, 1, &cl.device, flags.c_str(), 0, nullptr, nullptr, nullptr, nullptr);
    log += buildLog(cl, program);
    if (error) return error;
  }
  return 0;
}

static int32_t compileAndLink(const OpenCl &cl, Module &module) {
  std::vector<cl_object> programs;
  int32_t error = compile(cl, module.inputs, programs, module.log);
  if (!error && programs.size() == 1) std::swap(module.program, programs[0]);
  if (!error && programs.size() > 1) {
    module.program = cl.clLinkProgram(cl.context, 1, &cl.device, "", (uint32_t)programs.size(), programs.data(),
                                      nullptr, nullptr, &error);
    module.log += buildLog(cl, module.program);
  }
  for (cl_object program : programs)
    if (program) cl.clReleaseProgram(program);
  return error;
}

ze_result_t build(Module &module) {
  for (auto &input : module.inputs) {
    module.log = readSpirv(input.spirv, module.info);
    if (!module.log.empty()) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  }
  const OpenCl *cl = openCl();
  if (!cl) return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  int32_t error = compileAndLink(*cl, module);
  if (!error) return ZE_RESULT_SUCCESS;
  module.log += "\nOpenCL error " + std::to_string(error);
  return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

}  // namespace simulator
