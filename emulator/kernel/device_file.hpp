// What an open device file holds: buffer objects, address spaces and execution queues, each by its number.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "../cards/card.hpp"
#include "../commands/queue.hpp"
#include "../memory/address_space.hpp"
#include "../memory/buffer.hpp"

namespace ishmem_emulator {

// Objects by handles, which are not zero.
template <typename Object>
class Handles {
 public:
  uint32_t add(std::shared_ptr<Object> object) {
    objects_.emplace(++last_, std::move(object));
    return last_;
  }
  std::shared_ptr<Object> get(uint32_t handle) const {
    auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  // Takes the object out. Returns null if there is none.
  std::shared_ptr<Object> take(uint32_t handle) {
    std::shared_ptr<Object> object = get(handle);
    objects_.erase(handle);
    return object;
  }
  auto begin() const { return objects_.begin(); }
  auto end() const { return objects_.end(); }

 private:
  std::map<uint32_t, std::shared_ptr<Object>> objects_;
  uint32_t last_ = 0;
};

class DeviceFile {
 public:
  explicit DeviceFile(int card) : card_(card) { fixCards(); }

  int card() const { return card_; }
  const Card &row() const { return *installedCards()[(size_t)card_]; }

  // Held by each call that uses the objects.
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }
  void forgetThreads() {
    for (auto &[handle, space] : spaces) space->forgetThreads();
    for (auto &[handle, queue] : queues) queue->forgetThreads();
  }

  Handles<Buffer> buffers;
  Handles<AddressSpace> spaces;
  Handles<Queue> queues;

 private:
  const int card_;
  std::mutex lock_;
};

}  // namespace ishmem_emulator
