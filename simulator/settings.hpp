// The simulator's environment variables, read once, and the trace of calls.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace simulator {

// The words of these enumerations in settings.cpp have the same order.
enum class IpcMode { fd, pool, tiles, opaque, opaqueStrict };
// Access to memory of other cards; wrong: reported as atomics, but it reaches other pages.
enum class Peers { atomics, access, none, wrong };

enum class Fault { alloc, ipcOpen, resident, build, launch, copy };
const int faultCount = 6;
extern const char *const faultNames[faultCount];

enum class DeviceKind { discrete, integrated, npu };

struct Settings {
  std::vector<DeviceKind> kinds;  // of all devices
  std::vector<uint32_t> devices;  // indices of the GPUs that ZE_AFFINITY_MASK selects
  std::vector<uint32_t> npus;     // indices of the NPUs
  uint64_t memory;                // bytes per device
  uint64_t optimise;              // size of the largest module that the runtime optimises, in bytes
  std::optional<uint64_t> vectorise;  // size of the largest module to vectorise, in bytes; none: the runtime decides
  Peers peers;
  uint32_t card, engines;  // devices per card; compute engines that a device reports
  IpcMode ipc;
  bool hostAtomics, inlineWork, strict;
  bool checks;  // ISHMEM_CHECK: barriers of work-groups are checked
  uint64_t failAt[faultCount];  // number of the first call of each kind that fails; 0: none
  uint32_t slow;                // microseconds added to each launch and copy
  int trace;
  std::string opencl;  // path of the OpenCL CPU runtime
  std::string machineCode;   // folder of the machine code cache; empty: no cache
  uint64_t machineCodeSize;  // limit of the cache in bytes
  uint64_t compileLimit;     // seconds
  uint64_t kernelLimit;      // nanoseconds; 0: none
};

const Settings &settings();

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

inline std::atomic<uint64_t> driverCalls{0};  // of this process, without those that wait or ask

inline void trace(const char *call) {
  if (!strstr(call, "Query") && !strstr(call, "Synchronize")) driverCalls.fetch_add(1, std::memory_order_relaxed);
  static const bool on = settings().trace > 1;
  if (__builtin_expect(on, false)) complain("%s", call);
}

}  // namespace simulator
