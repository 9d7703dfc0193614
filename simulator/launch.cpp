// Kernel launches.
#include <cstring>

#include "barrier_record.hpp"
#include "command_list.hpp"
#include "faults.hpp"
#include "kernel.hpp"
#include "time_limit.hpp"
#include "yielding.hpp"

namespace simulator {

// One launch, with the argument values at the time of the append.
struct KernelLaunch {
  std::shared_ptr<KernelCode> code;
  std::vector<Argument> arguments;
  std::array<size_t, 3> global, local, offset;

  bool run() const;

 private:
  int32_t setArgument(const OpenCl &cl, cl_object kernel, uint32_t index) const;
  int32_t setArguments(const OpenCl &cl, cl_object kernel) const;
  int32_t enqueue(const OpenCl &cl, cl_object queue, cl_object kernel) const;
  int32_t runShared(const OpenCl &cl) const;
  int32_t runHere(const OpenCl &cl) const;
};

int32_t KernelLaunch::setArgument(const OpenCl &cl, cl_object kernel, uint32_t index) const {
  const Argument &argument = arguments[index];
  const Parameter &parameter = code->info.parameters[index];
  if (parameter.kind == Parameter::local) return cl.clSetKernelArg(kernel, index, argument.size, nullptr);
  if (parameter.kind == Parameter::pointer) {
    void *address = nullptr;
    memcpy(&address, argument.bytes.data(), argument.bytes.size());
    return cl.clSetKernelArgMemPointerINTEL(kernel, index, address);
  }
  // The caller's size may differ from the kernel's: the value is truncated or padded with zeros. No value means zeros.
  size_t size = parameter.size ? parameter.size : argument.size;
  if (argument.bytes.size() == size) return cl.clSetKernelArg(kernel, index, size, argument.bytes.data());
  std::string bytes = argument.bytes;
  bytes.resize(size);
  return cl.clSetKernelArg(kernel, index, size, bytes.data());
}

int32_t KernelLaunch::setArguments(const OpenCl &cl, cl_object kernel) const {
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    int32_t error = setArgument(cl, kernel, i);
    if (!error) continue;
    complain("argument %u of kernel %s was refused", i, readableName(code->name).c_str());
    return error;
  }
  return 0;
}

int32_t KernelLaunch::enqueue(const OpenCl &cl, cl_object queue, cl_object kernel) const {
  return cl.clEnqueueNDRangeKernel(queue, kernel, 3, offset.data(), global.data(), local.data(), 0, nullptr, nullptr);
}

int32_t KernelLaunch::runShared(const OpenCl &cl) const {
  cl_object queue = threadQueues(cl).shared;
  {
    std::lock_guard<std::mutex> lock(code->mutex);
    int32_t error = setArguments(cl, code->kernel);
    if (!error) error = enqueue(cl, queue, code->kernel);
    if (error) return error;
  }
  return cl.clFinish(queue);
}

// Runs a single work-group on this thread, where `Yielding` works: a work-group that waits for another PE spins. The
// launch ends with the kernel, so it needs a kernel object of its own.
int32_t KernelLaunch::runHere(const OpenCl &cl) const {
  int32_t error = 0;
  code->mutex.lock();
  cl_object kernel = cl.clCloneKernel(code->kernel, &error);
  code->mutex.unlock();
  if (error) return error;
  error = setArguments(cl, kernel);
  if (!error) error = enqueue(cl, threadQueues(cl).own, kernel);
  if (!error) error = cl.clFinish(threadQueues(cl).own);
  cl.clReleaseKernel(kernel);
  return error;
}

bool KernelLaunch::run() const {
  const bool severalGroups = global != local;
  Yielding yielding(severalGroups);
  TimeLimit limit(*code, global, local);
  int32_t error = severalGroups ? runShared(*openCl()) : runHere(*openCl());
  if (error) complain("kernel %s failed (OpenCL error %d): the device is lost", readableName(code->name).c_str(), error);
  return !error && !(code->barriers && reportBarrier(code->name, code->barriers));
}

ZE_API ze_result_t zeCommandListAppendLaunchKernel(ze_command_list_handle_t list, ze_kernel_handle_t kernel,
                                                   const ze_group_count_t *groups, ze_event_handle_t signal,
                                                   uint32_t waitCount, ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list, kernel}, {groups})) return error;
  for (auto &argument : kernel->arguments)
    if (!argument.set) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  auto &local = kernel->groupSize;
  std::array<size_t, 3> global = {local[0] * groups->groupCountX, local[1] * groups->groupCountY,
                                  local[2] * groups->groupCountZ};
  bool empty = global[0] == 0 || global[1] == 0 || global[2] == 0;
  if (empty) return append(list, nullptr, signal, waitCount, waits);
  auto launch = std::make_shared<const KernelLaunch>(
      KernelLaunch{kernel->code, kernel->arguments, global, local, kernel->offset});
  auto work = [launch] { return !fails(Fault::launch) && launch->run(); };
  return append(list, work, signal, waitCount, waits, true);
}

}  // namespace simulator
