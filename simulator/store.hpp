// The machine code cache: a folder with one file per key, which any number of processes may use concurrently.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace simulator {

// Stores values by keys of any length. A file has the key beside the value, and its name is a hash of the key: of two keys
// with one name, the last is stored. A file that cannot be read counts as missing, and a failure to write is ignored. A
// file is written under a temporary name and then renamed. It is used only if this user owns it and its checksum is right.
class MachineCodeStore {
 public:
  // An empty folder name disables the cache.
  MachineCodeStore(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  bool get(const std::string &key, std::string &value) const;
  void put(const std::string &key, const std::string &value) const;

  // Calls `make` while holding the lock of this key, or without the lock after waiting for 5 minutes.
  void inTurn(const std::string &key, const std::function<void()> &make) const;

 private:
  std::string path(const std::string &key) const;
  bool makeFolder() const;
  void shrink() const;

  std::string folder_;
  uint64_t limit_;
};

}  // namespace simulator
