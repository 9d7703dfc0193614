#include "buffer.hpp"

#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../report.hpp"

namespace ishmem_emulator {

// The memfd's name says whose memory it is, to each process that imports it.
static const char *const nameFormat = "ishmem-card%d";

// System calls instead of the C library's functions, which this library replaces.
static bool statOf(int descriptor, struct stat *status) {
  return syscall(SYS_fstat, descriptor, status) == 0;
}

std::shared_ptr<Buffer> Buffer::create(uint64_t size, int card) {
  int descriptor = memfd_create(formatted(nameFormat, card).c_str(), MFD_CLOEXEC);
  if (descriptor < 0) return nullptr;
  struct stat status;
  if (ftruncate(descriptor, (off_t)size) != 0 || !statOf(descriptor, &status)) {
    syscall(SYS_close, descriptor);
    return nullptr;
  }
  return std::shared_ptr<Buffer>(new Buffer(descriptor, size, card, status.st_ino));
}

std::shared_ptr<Buffer> Buffer::import(int exported) {
  char target[128] = "";
  std::string link = "/proc/self/fd/" + std::to_string(exported);
  if (syscall(SYS_readlink, link.c_str(), target, sizeof target - 1) < 0) return nullptr;
  int card;
  struct stat status;
  if (sscanf(target, "/memfd:ishmem-card%d ", &card) != 1 || !statOf(exported, &status)) return nullptr;
  int descriptor = (int)syscall(SYS_fcntl, exported, F_DUPFD_CLOEXEC, 3);
  if (descriptor < 0) return nullptr;
  return std::shared_ptr<Buffer>(new Buffer(descriptor, (uint64_t)status.st_size, card, status.st_ino));
}

Buffer::~Buffer() {
  if (host_) munmap(host_, size_);
  syscall(SYS_close, descriptor_);
}

char *Buffer::host() {
  std::lock_guard<std::mutex> lock(mapping_);
  if (host_) return host_;
  long place = syscall(SYS_mmap, nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (place == -1) return nullptr;
  return host_ = (char *)place;
}

}  // namespace ishmem_emulator
