// Builds a module's program: rewrites the SPIR-V that the OpenCL CPU runtime cannot compile, then compiles it.
#include <set>
#include <vector>

#include "barrier_record.hpp"
#include "compile.hpp"
#include "faults.hpp"
#include "module.hpp"
#include "rewrite.hpp"
#include "settings.hpp"
#include "words.hpp"

namespace simulator {

enum : uint32_t { vecTypeHint = 30, int4 = 4 << 16 | 2 };

// The runtime vectorises a kernel over its work-items. If a kernel computes an address from integers, the code of older
// runtimes does not advance the address from one vector of work-items to the next, so all of them access the elements of
// the first vector. The runtime does not vectorise a kernel with the vector type hint int4. It makes sub-groups by its
// vectoriser, so kernels that use them get no hint, and lose that of the program.
static std::string withHints(const std::string &spirv, bool vectorise, const Kernels &together) {
  const Words in(spirv);
  NewWords out(in);
  std::set<uint32_t> kernels;
  size_t end = 0;  // of the execution modes, which follow the entry points
  for (auto &i : in.instructions) {
    const bool isHint = i.op() == OpExecutionMode && i[2] == vecTypeHint;
    if (isHint && (!vectorise || together.count(i[1]))) continue;
    out.append(i);
    if (i.op() == OpEntryPoint) kernels.insert(i[2]);
    if (i.op() == OpEntryPoint || i.op() == OpExecutionMode) end = out.place();
  }
  for (uint32_t kernel : kernels)
    if (!vectorise && !together.count(kernel)) out.emit(OpExecutionMode, {kernel, vecTypeHint, int4}, end);
  return out.bytes();
}

// The vectoriser takes four fifths of the time to compile a long kernel. One without work-groups mostly calls operations
// of libraries, which do not become faster.
static bool isVectorised(const std::string &spirv) {
  if (settings().vectorise) return spirv.size() <= *settings().vectorise;
  const size_t isLong = 16 << 10;
  return isCurrent() && (spirv.size() <= isLong || usesWorkGroups(spirv));
}

// Returns the inputs, rewritten for the compiler. Large modules are not optimised: that takes the runtime up to a minute,
// and the compilers of kernels have optimised the code already; sub-groups do not work without it. Kernels whose barriers
// are checked are not vectorised: the work-items of a vector pass the barriers of each other, so their number would be
// wrong. Hence barriers are not checked in modules with sub-groups.
static std::vector<ModuleInput> prepared(Module &module) {
  std::vector<ModuleInput> inputs = module.inputs;
  const std::vector<Kernels> together = kernelsWithSubGroups(inputs);
  bool checked = false;
  if (inputs.size() == 1) {
    const std::string whole = inputs[0].spirv;
    if (settings().checks && isCurrent() && together[0].empty()) inputs[0].spirv = withCheckedBarriers(whole);
    checked = inputs[0].spirv != whole;
    for (auto &kernel : constantsToParameters(inputs[0])) module.info.kernels[kernel.first].constants = kernel.second;
  }
  for (size_t k = 0; k < inputs.size(); ++k) {
    const bool vectorise = !checked && isVectorised(inputs[k].spirv);
    inputs[k].spirv = withHints(withFewFences(withPlainSwitches(inputs[k].spirv)), vectorise, together[k]);
    if (inputs[k].spirv.size() > settings().optimise && together[k].empty()) inputs[k].flags += " -cl-opt-disable";
  }
  return inputs;
}

static const volatile uint32_t *recordOf(const OpenCl &cl, cl_object program) {
  size_t size = 0;
  void *record = nullptr;
  auto lookUp = cl.clGetDeviceGlobalVariablePointerINTEL;
  return lookUp && !lookUp(cl.device, program, recordName, &size, &record) ? (const uint32_t *)record : nullptr;
}

static bool load(const OpenCl &cl, const std::string &binary, Module &module) {
  auto *bytes = reinterpret_cast<const unsigned char *>(binary.data());
  size_t size = binary.size();
  int32_t status = 0, error = 0;
  cl_object program = cl.clCreateProgramWithBinary(cl.context, 1, &cl.device, &size, &bytes, &status, &error);
  if (!error) error = status;
  if (!error) error = cl.clBuildProgram(program, 1, &cl.device, "", nullptr, nullptr);
  if (!error) module.program = program, module.barriers = recordOf(cl, program);
  if (error && program) cl.clReleaseProgram(program);
  return !error;
}

ze_result_t build(Module &module) {
  for (auto &input : module.inputs) {
    module.log = readSpirv(input.spirv, module.info);
    if (!module.log.empty()) return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  }
  if (fails(Fault::build)) {
    module.log = "ISHMEM_SIM_FAIL asks for this";
    return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  }
  const OpenCl *cl = openCl();
  if (!cl) {
    module.log = "there is no OpenCL CPU runtime: " + settings().opencl;
    return ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE;
  }
  Compiled code = machineCode(prepared(module), [&](const std::string &binary) { return load(*cl, binary, module); });
  module.log = code.log;
  if (!code.error) return ZE_RESULT_SUCCESS;
  if (code.error != compilerEnded) module.log += "\nOpenCL error " + std::to_string(code.error);
  return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
}

}  // namespace simulator
