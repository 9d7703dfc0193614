#include "memory.hpp"

#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "work.hpp"

namespace simulator {

static const char memfdName[] = "ze_simulator %d";

Memory &memory() {
  static Memory *only = new Memory;  // never destroyed: worker threads may outlive main
  return *only;
}

int createMemfd(size_t size, int device) {
  char name[64];
  snprintf(name, sizeof name, memfdName, device);
  int fd = memfd_create(name, MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)size) == 0) return fd;
  if (fd >= 0) close(fd);
  return -1;
}

bool isMemfd(int fd, size_t *size, int *device) {
  char path[64], target[PATH_MAX] = "";
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct stat status;
  if (readlink(path, target, sizeof target - 1) < 0 || fstat(fd, &status)) return false;
  *size = (size_t)status.st_size;
  const std::string expected = std::string("/memfd:") + memfdName;
  return sscanf(target, expected.c_str(), device) == 1;
}

// Reserves more address space than needed and unmaps what lies outside the aligned range.
static char *reserve(size_t size, size_t alignment) {
  void *all = mmap(nullptr, size + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return nullptr;
  char *begin = (char *)all;
  char *aligned = (char *)(((uintptr_t)begin + alignment - 1) & ~(uintptr_t)(alignment - 1));
  if (aligned > begin) munmap(begin, (size_t)(aligned - begin));
  munmap(aligned + size, (size_t)(begin + alignment - aligned));
  return aligned;
}

static bool mapParts(const Allocation &a, int protection) {
  if (a.parts.empty())
    return mmap(a.base, a.mapped, protection, MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
  char *at = a.base;
  for (const MemoryPart &part : a.parts) {
    if (mmap(at, part.size, protection, MAP_FIXED | MAP_SHARED, part.fd, (off_t)part.offset) == MAP_FAILED) return false;
    at += part.size;
  }
  return true;
}

ze_result_t Memory::map(Allocation allocation, size_t alignment, void **address) {
  Allocation &a = allocation;
  a.mapped = wholePages(a.size);
  a.base = reserve(a.mapped, alignment > pageSize ? alignment : pageSize);
  if (!a.base) return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  std::lock_guard<std::mutex> lock(mutex);
  bool hidden = settings().strict && a.type == ZE_MEMORY_TYPE_DEVICE && working_ == 0;
  if (!mapParts(a, hidden ? PROT_NONE : PROT_READ | PROT_WRITE)) {
    munmap(a.base, a.mapped);
    return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  }
  a.id = ++lastId_;
  table_[(uintptr_t)a.base] = a;
  *address = a.base;
  return ZE_RESULT_SUCCESS;
}

static void closeExported(const MemoryPart &a) {
  if (a.exported < 0) return;
  struct stat exported, own;
  bool same = fstat(a.exported, &exported) == 0 && fstat(a.fd, &own) == 0 && exported.st_ino == own.st_ino;
  if (same)
    close(a.exported);
  else
    complain("the application closed descriptor %d of an IPC handle: it belongs to the driver", a.exported);
}

// Does nothing if a kernel has been given up, since it may still access the memory.
static void unmap(const Allocation &a) {
  if (hung) return;
  munmap(a.base, a.mapped);
  for (const MemoryPart &part : a.parts) {
    closeExported(part);
    close(part.fd);
  }
  if (a.device && !a.imported) a.device->used -= a.size;
}

ze_result_t Memory::remove(const void *address, bool imported, Allocation &removed) {
  std::lock_guard<std::mutex> lock(mutex);
  auto entry = table_.find((uintptr_t)address);
  if (entry == table_.end() || entry->second.imported != imported) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  removed = std::move(entry->second);
  table_.erase(entry);
  return ZE_RESULT_SUCCESS;
}

ze_result_t Memory::release(const void *address, bool imported) {
  Allocation a;
  ze_result_t result = remove(address, imported, a);
  if (result == ZE_RESULT_SUCCESS) unmap(a);
  return result;
}

ze_result_t Memory::releaseAfterWork(const void *address) {
  Allocation a;
  if (ze_result_t result = remove(address, false, a)) return result;
  if (settings().strict) mprotect(a.base, a.mapped, PROT_READ | PROT_WRITE);  // the table no longer does it
  afterWork([a] { unmap(a); });
  return ZE_RESULT_SUCCESS;
}

Allocation *Memory::find(const void *address) {
  auto next = table_.upper_bound((uintptr_t)address);
  if (next == table_.begin()) return nullptr;
  Allocation &a = std::prev(next)->second;
  return (uintptr_t)address - (uintptr_t)a.base < a.size ? &a : nullptr;
}

Allocation *Memory::findExported(int fd) {
  for (auto &entry : table_)
    for (const MemoryPart &part : entry.second.parts)
      if (fd >= 0 && part.exported == fd) return &entry.second;
  return nullptr;
}

void Memory::protect(int protection) {
  for (auto &entry : table_)
    if (entry.second.type == ZE_MEMORY_TYPE_DEVICE) mprotect(entry.second.base, entry.second.mapped, protection);
}

void Memory::beginWork() {
  std::lock_guard<std::mutex> lock(mutex);
  if (working_++ == 0) protect(PROT_READ | PROT_WRITE);
}

void Memory::endWork() {
  std::lock_guard<std::mutex> lock(mutex);
  if (--working_ == 0) protect(PROT_NONE);
}

}  // namespace simulator
