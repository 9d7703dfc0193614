// Compiles modules with the OpenCL CPU runtime. Runs in the compiler process.
#include "compile.hpp"

#include <sstream>

namespace simulator {

// Keeps the OpenCL flags. The CPU runtime does not know those of the GPU compiler ("-ze-...", "-vc-...").
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

static int32_t compileEach(const OpenCl &cl, const std::vector<ModuleInput> &inputs, std::vector<cl_object> &programs,
                           std::string &log) {
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

static int32_t readBinary(const OpenCl &cl, cl_object program, std::string &binary) {
  size_t size = 0;
  int32_t error = cl.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr);
  if (error) return error;
  binary.resize(size);
  char *to = &binary[0];
  return cl.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr);
}

Compiled compileHere(const std::vector<ModuleInput> &inputs) {
  Compiled result;
  const OpenCl &cl = *openCl();
  std::vector<cl_object> programs;
  result.error = compileEach(cl, inputs, programs, result.log);
  if (!result.error && programs.size() > 1) {
    cl_object linked = cl.clLinkProgram(cl.context, 1, &cl.device, "", (uint32_t)programs.size(), programs.data(),
                                        nullptr, nullptr, &result.error);
    result.log += buildLog(cl, linked);
    if (linked) programs.insert(programs.begin(), linked);
  }
  if (!result.error) result.error = readBinary(cl, programs[0], result.binary);
  for (cl_object program : programs) cl.clReleaseProgram(program);
  return result;
}

}  // namespace simulator
