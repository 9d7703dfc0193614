// Serialises numbers and length-prefixed strings.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace simulator {

inline void put(std::string &out, uint64_t number) { out.append((const char *)&number, sizeof number); }

inline void put(std::string &out, const std::string &text) {
  put(out, (uint64_t)text.size());
  out += text;
}

// Reads at offset `at` and advances it. Returns false if too few bytes are left.
inline bool take(const std::string &in, size_t &at, uint64_t &number) {
  if (in.size() - at < sizeof number) return false;
  memcpy(&number, in.data() + at, sizeof number);
  at += sizeof number;
  return true;
}

inline bool take(const std::string &in, size_t &at, std::string &text) {
  uint64_t size;
  if (!take(in, at, size) || in.size() - at < size) return false;
  text = in.substr(at, size);
  at += size;
  return true;
}

}  // namespace simulator
