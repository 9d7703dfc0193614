// A folder of machine code: one file each, written by any number of processes at once.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace simulator {

// Values under keys of hexadecimal digits; what cannot be read or written is as if it were not there. A file is renamed
// to its place when it is complete, and is not believed unless it is of this user and its checksum over key and value
// is right.
class Store {
 public:
  // Without a name of a folder nothing is kept.
  Store(std::string folder, uint64_t limit) : folder_(std::move(folder)), limit_(limit) {}

  bool get(const std::string &key, std::string &value) const;
  void put(const std::string &key, const std::string &value) const;

  // Calls make while no other process makes the value of this key; after half a minute all the same.
  void inTurn(const std::string &key, const std::function<void()> &make) const;

 private:
  std::string path(const std::string &key) const { return folder_ + "/" + key + ".machine"; }
  bool makeFolder() const;
  void shrink() const;

  std::string folder_;
  uint64_t limit_;
};

}  // namespace simulator
