// GPU address spaces: what is mapped where, and lookups.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <shared_mutex>
#include <vector>

#include "../eu/execution.hpp"
#include "buffer.hpp"

namespace ishmem_emulator {

// What is mapped from an address on. The buffer, if any, keeps the host's memory.
struct Mapping {
  uint64_t size;
  char *host;
  bool writable, atomics;
  std::shared_ptr<Buffer> buffer;
};

class AddressSpace : public Space {
 public:
  explicit AddressSpace(int addressBits) : mask_((1ull << addressBits) - 1), id_(nextId()) {}

  char *find(uint64_t address, uint64_t bytes, Access access, uint64_t *extent = nullptr) override;
  uint64_t generation() const override { return generation_.load(std::memory_order_acquire); }

  // Both replace what was mapped there.
  void map(uint64_t address, Mapping mapping);
  void unmap(uint64_t address, uint64_t size);
  void unmapAll(const Buffer &buffer);

  // Whether an address lies in the space: copies of its highest bit extend it.
  bool holds(uint64_t address, uint64_t size) const;

  // Memory that is unmapped stays in the host for as long as somebody holds a lookup's result: construct one of these
  // before the lookup.
  class Use {
   public:
    explicit Use(AddressSpace &space) : space_(space) { ++space_.users_; }
    ~Use() { space_.endUse(); }
    Use(const Use &) = delete;

   private:
    AddressSpace &space_;
  };

  // In the child of a fork: locks that other threads of the parent held are free.
  void forgetThreads();

 private:
  using Mappings = std::map<uint64_t, Mapping>;

  static uint64_t nextId();
  void cutAt(uint64_t address);
  void remove(uint64_t address, uint64_t size);
  void endUse();

  const uint64_t mask_, id_;
  std::atomic<uint64_t> generation_{1};
  std::atomic<int> users_{0};
  std::shared_mutex lock_;
  Mappings mappings_;
  std::vector<std::shared_ptr<Buffer>> retired_;  // unmapped in use
  std::atomic<bool> anyRetired_{false};
};

}  // namespace ishmem_emulator
