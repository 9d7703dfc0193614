// The table of allocations, and strict mode, in which device memory is accessible only while a kernel or copy runs.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "driver.hpp"

namespace simulator {

static const size_t pageSize = 64 << 10;        // of device memory
static const size_t poolOffset = 2 * pageSize;  // offset of an allocation in its memfd in the pool formats

// A part of an allocation: `size` bytes of a memfd from `offset` on.
struct MemoryPart {
  int fd;
  size_t offset, size;
  int exported = -1;  // descriptor in this part's IPC handles, owned by the driver
};

struct Allocation {
  size_t size;
  ze_memory_type_t type;
  Device *device;
  bool imported;
  std::vector<MemoryPart> parts;  // empty for anonymous memory
  char *base = nullptr;
  size_t mapped = 0;
  uint64_t id = 0;
  int exports = 0;  // exports not yet undone by zeMemPutIpcHandle
};

class Memory {
 public:
  // Maps memory and adds it to the table, which then owns the descriptors. `size` is the requested size.
  ze_result_t map(Allocation allocation, size_t alignment, void **address);
  // Removes the allocation that starts at the address; `imported` must match.
  ze_result_t release(const void *address, bool imported);
  // Removes the allocation now, and unmaps it once the work that has been submitted so far has completed.
  ze_result_t releaseAfterWork(const void *address);
  // The allocation that contains the address, or null. The caller holds the mutex.
  Allocation *find(const void *address);
  Allocation *findExported(int fd);
  void beginWork();
  void endWork();

  std::mutex mutex;

 private:
  ze_result_t remove(const void *address, bool imported, Allocation &removed);
  void protect(int protection);

  std::map<uintptr_t, Allocation> table_;  // by base address
  uint64_t lastId_ = 0;
  int working_ = 0;  // number of running kernels and copies
};

Memory &memory();

// Exists while a kernel or copy runs. In strict mode device memory is accessible only during that time.
struct DeviceWork {
  DeviceWork() {
    if (settings().strict) memory().beginWork();
  }
  ~DeviceWork() {
    if (settings().strict) memory().endWork();
  }
};

inline size_t wholePages(size_t size) { return (size + pageSize - 1) & ~(pageSize - 1); }

// The memfd's name holds the number of the device that it belongs to, or -1 for none.
int createMemfd(size_t size, int device);
bool isMemfd(int fd, size_t *size, int *device);

}  // namespace simulator
