// The simulator's environment variables, read once, and the trace of calls.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simulator {

enum class IpcMode { fd, pool, tiles, opaque, opaqueStrict };
enum class Peers { none, access, atomics };  // what a device may do with the memory of another card

enum class Fault { alloc, ipcOpen, build, launch, copy };
const int faultCount = 5;
extern const char *const faultNames[faultCount];

struct Settings {
  std::vector<uint32_t> devices;  // indices left after ZE_AFFINITY_MASK
  uint64_t memory;                // bytes per device
  uint64_t vectorise;             // bytes of the largest module whose kernels are vectorised
  Peers peers;
  uint32_t card, engines;  // devices of a card; kernels that a device runs at a time
  IpcMode ipc;
  bool hostAtomics, inlineWork, strict;
  uint64_t failAt[faultCount];  // from which number on a kind of call fails; 0: never
  uint32_t slow;                // microseconds that each command takes longer
  int trace;
  std::string opencl;  // path of the OpenCL CPU runtime
  std::string machineCode;   // the folder that it is kept in; empty: it is not
  uint64_t machineCodeSize;  // bytes
  uint64_t compileLimit;     // seconds
};

const Settings &settings();

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

inline void trace(const char *call) {
  static const bool on = settings().trace > 1;
  if (__builtin_expect(on, false)) complain("%s", call);
}

}  // namespace simulator
