// Open directories of emulated files: what opendir returns.
#pragma once

#include <dirent.h>
#include <string>
#include <vector>

namespace ishmem_emulator {

class Listing {
 public:
  // The names below a directory of ours, and others that the machine has there.
  Listing(const std::string &directory, const std::vector<std::string> &others);

  struct dirent *next();  // null at the end
  void rewind() { at_ = 0; }
  long position() const { return (long)at_; }
  void seek(long position) { at_ = (size_t)position; }

  // Listings pass through interfaces that have a DIR.
  static DIR *publish(Listing *listing);
  static Listing *of(DIR *directory);  // null if it is the C library's
  static void close(DIR *directory);

 private:
  std::vector<struct dirent> entries_;
  size_t at_ = 0;
};

}  // namespace ishmem_emulator
