// Building a module's program with the OpenCL CPU runtime.
#include <sstream>
#include <vector>

#include "module.hpp"
#include "settings.hpp"

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

enum : uint32_t { opEntryPoint = 15, opExecutionMode = 16, subgroupSize = 35, vecTypeHint = 30, int4 = 4 << 16 | 2 };

// The runtime vectorises a kernel over its work-items, in a time that grows out of proportion with the kernel: 7 s
// where 1 s is enough. It leaves alone what says that it works on vectors by itself. Sub-groups need it.
static std::string withoutVectoriser(const std::string &spirv) {
  auto *words = reinterpret_cast<const uint32_t *>(spirv.data());
  std::vector<uint32_t> hints;
  size_t at = 5, end = 0;  // the header has 5 words; modes follow the entry points
  for (; at < spirv.size() / 4; at += words[at] >> 16) {
    const uint32_t op = words[at] & 0xffff;
    if (op == opExecutionMode && words[at + 2] == subgroupSize) return spirv;
    if (op == opEntryPoint) hints.insert(hints.end(), {4 << 16 | opExecutionMode, words[at + 2], vecTypeHint, int4});
    if (op == opEntryPoint || op == opExecutionMode) end = (at + (words[at] >> 16)) * 4;
  }
  std::string hinted = spirv;
  return hinted.insert(end, reinterpret_cast<const char *>(hints.data()), hints.size() * 4);
}

static cl_object createProgram(const OpenCl &cl, const ModuleInput &input, int32_t *error) {
  const bool vectorise = input.spirv.size() <= settings().vectorise;
  const std::string &spirv = vectorise ? input.spirv : withoutVectoriser(input.spirv);
  cl_object program = cl.clCreateProgramWithIL(cl.context, spirv.data(), spirv.size(), error);
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
