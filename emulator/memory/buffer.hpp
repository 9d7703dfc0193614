// Buffer objects: memory of a card's tile or of the host.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <sys/types.h>

namespace ishmem_emulator {

const int hostMemory = -1;

// A memfd, so that an exported descriptor gives another process the same memory.
class Buffer {
 public:
  // Create a buffer of a card (or `hostMemory`). Returns null without memory.
  static std::shared_ptr<Buffer> create(uint64_t size, int card);
  // The buffer of an exported descriptor. Returns null if it is none.
  static std::shared_ptr<Buffer> import(int descriptor);

  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  int descriptor() const { return descriptor_; }
  uint64_t size() const { return size_; }
  int card() const { return card_; }
  ino_t inode() const { return inode_; }
  char *host();  // where this process has it mapped; null without memory

 private:
  Buffer(int descriptor, uint64_t size, int card, ino_t inode)
      : descriptor_(descriptor), size_(size), card_(card), inode_(inode) {}

  const int descriptor_;
  const uint64_t size_;
  const int card_;
  const ino_t inode_;
  std::mutex mapping_;
  char *host_ = nullptr;
};

}  // namespace ishmem_emulator
