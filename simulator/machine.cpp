// The machine code of modules, from the cache on disk or the compiler.
#include "compile.hpp"

#include <cpuid.h>
#include <cstring>
#include <set>
#include <sys/stat.h>

#include "rewrite.hpp"
#include "serial.hpp"
#include "settings.hpp"
#include "store.hpp"

extern char **environ;

namespace simulator {

static void putProcessor(std::string &out) {
  for (unsigned leaf : {1u, 7u, 13u}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __get_cpuid_count(leaf, 0, &a, &b, &c, &d);
    if (leaf == 1) b = 0;  // EBX holds the ID of the current core
    for (unsigned value : {a, b, c, d}) put(out, (uint64_t)value);
  }
}

// The part of the cache key beside the module: the runtime, its settings and the processor.
static std::string surroundings() {
  std::string out = "sub-groups are vectorised";  // older code may not be
  const OpenCl &cl = *openCl();
  for (uint32_t what : {CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION}) {
    char text[256] = "";
    cl.clGetDeviceInfo(cl.device, what, sizeof text - 1, text, nullptr);
    put(out, std::string(text));
  }
  struct stat status{};
  stat(settings().opencl.c_str(), &status);
  put(out, (uint64_t)status.st_size);
  putProcessor(out);
  std::set<std::string> variables;
  for (char **entry = environ; *entry; ++entry)
    if (!strncmp(*entry, "CL_CONFIG_", 10)) variables.insert(*entry);
  for (auto &variable : variables) put(out, variable);
  return out;
}

// A module without code, which a program builds to have the compiler loaded before it is needed.
static bool isEmpty(const std::vector<ModuleInput> &inputs) {
  return inputs.size() == 1 && inputs[0].spirv.size() < 128;
}

Compiled machineCode(const std::vector<ModuleInput> &inputs, const std::function<bool(const std::string &)> &load) {
  if (isEmpty(inputs)) {  // loading it from the cache would load no compiler
    Compiled nothing = compileElsewhere(inputs);
    if (!nothing.error && !load(nothing.binary)) nothing.error = compilerEnded;
    return nothing;
  }
  static const MachineCodeStore *store = new MachineCodeStore(settings().machineCode, settings().machineCodeSize);
  static const std::string *around = new std::string(surroundings());
  const std::string key = *around + writeNative(inputs);
  Compiled result;
  auto kept = [&] { return store->get(key, result.binary) && load(result.binary); };
  if (kept()) return result;
  store->inTurn(key, [&] {
    if (kept()) return;
    if (settings().trace) complain("a module of %zu bytes is compiled", inputs[0].spirv.size());
    result = compileElsewhere(inputs);
    if (result.error) return;
    if (std::string why = whyNotVectorised(inputs, result.log); !why.empty()) {
      result.error = compilerEnded, result.log = why;
      return;
    }
    if (load(result.binary))
      store->put(key, result.binary);
    else
      result.error = compilerEnded, result.log += "\nthe OpenCL CPU runtime does not load what it has compiled";
  });
  return result;
}

}  // namespace simulator
