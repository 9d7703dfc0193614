// Kernels and their arguments.
#pragma once

#include <array>
#include <memory>
#include <mutex>

#include "module.hpp"

namespace simulator {

// The OpenCL kernel of a kernel handle. Running launches share it.
struct KernelCode {
  std::string name;
  KernelInfo info;
  cl_object kernel;
  const volatile uint32_t *barriers;  // see Module
  std::mutex mutex;  // held while arguments are set and the launch is enqueued

  ~KernelCode() { openCl()->clReleaseKernel(kernel); }
};

// A kernel's name in the source, as far as the name that the compiler has given it tells.
std::string readableName(const std::string &mangled);

struct Argument {
  bool set = false;
  size_t size = 0;
  std::string bytes;  // empty if the caller passed no value
};

struct Kernel {
  std::shared_ptr<KernelCode> code;
  std::vector<Argument> arguments;
  std::array<size_t, 3> groupSize{1, 1, 1}, offset{};
};

}  // namespace simulator
