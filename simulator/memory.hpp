// The table of allocations, and strict mode.
#pragma once

#include <map>
#include <mutex>

#include "driver.hpp"

namespace simulator {

static const size_t pageSize = 64 << 10;  // of device memory

struct Allocation {
  char *base;
  size_t size, mapped;
  int fd;  // the memfd, or -1
  ze_memory_type_t type;
  Device *device;
  uint64_t id;
  bool imported;
  int exported = -1;  // the descriptor in the IPC handles of this allocation; the driver owns it
  int exports = 0;    // handles given out and not put back
};

class Memory {
 public:
  // Maps memory and adds it to the table, which then owns fd. The size is the caller's.
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

int createMemfd(size_t size);
bool isMemfd(int fd, size_t *size);

}  // namespace simulator
