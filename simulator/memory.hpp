// The table of allocations, and strict mode.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "driver.hpp"

namespace simulator {

static const size_t pageSize = 64 << 10;        // of device memory
static const size_t poolOffset = 2 * pageSize;  // of an allocation in its pool, where drivers have pools

// A piece of an allocation: so much of a memfd, from an offset on.
struct Part {
  int fd;
  size_t offset, size;
  int exported = -1;  // the descriptor in the IPC handles of this part; the driver owns it
};

struct Allocation {
  size_t size;
  ze_memory_type_t type;
  Device *device;
  bool imported;
  std::vector<Part> parts;  // none: anonymous memory
  char *base = nullptr;
  size_t mapped = 0;
  uint64_t id = 0;
  int exports = 0;  // handles given out and not put back
};

class Memory {
 public:
  // Maps memory and adds it to the table, which then owns the descriptors. The size is the caller's.
  ze_result_t map(Allocation allocation, size_t alignment, void **address);
  // Takes out the allocation that starts at an address and has this origin.
  ze_result_t release(const void *address, bool imported);
  // The allocation of an address, or null. The caller holds the mutex.
  Allocation *find(const void *address);
  Allocation *findExported(int fd);
  void beginWork();
  void endWork();

  std::mutex mutex;

 private:
  void protect(int protection);

  std::map<uintptr_t, Allocation> table_;  // by base
  uint64_t lastId_ = 0;
  int working_ = 0;  // kernels and copies that run now
};

Memory &memory();

// Lives as long as a kernel or copy runs. In strict mode device memory is accessible only then.
struct DeviceWork {
  DeviceWork() {
    if (settings().strict) memory().beginWork();
  }
  ~DeviceWork() {
    if (settings().strict) memory().endWork();
  }
};

inline size_t wholePages(size_t size) { return (size + pageSize - 1) & ~(pageSize - 1); }

// A memfd's name says which device it is memory of; -1 for none.
int createMemfd(size_t size, int device);
bool isMemfd(int fd, size_t *size, int *device);

}  // namespace simulator
