// The L1 cache of an Xe core, which its threads share.
//
// It keeps a line as it was when it was loaded, until a fence invalidates the cache, or an atomic or an uncached message
// touches the line. A store is seen by the core's threads at once. It reaches the L2 cache, and with it all others, late,
// in any order but that of stores to the same bytes, unless a fence makes it arrive.
#pragma once

#include <mutex>
#include <random>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "line.hpp"
#include "setting.hpp"

namespace ishmem_emulator::caches {

// Of a fence message: how far what precedes it must have got, and whether the L1 cache is invalidated.
struct Fence {
  bool beyond_group, invalidates;
};

class Core {
 public:
  void seed(uint64_t seed, uint64_t number);

  // The methods below are called with this lock. Addresses are the host's.
  std::mutex& lock() { return lock_; }

  uint64_t next_message() { return messages_ += 32; }  // and one for each lane
  void load(const char* place, void* to, uint64_t bytes, bool cached);
  void store(char* place, const void* from, uint64_t bytes, const Storer&, uint64_t message, bool cached);
  void before_atomic(const char* place, uint64_t bytes);  // atomics are made in the L2 cache
  void has_published(const Storer&);                      // by an atomic
  void fence(const Storer&, Fence);
  void prefetch(const char* place);

  // A kernel begins: no line is kept.
  void begin(uint64_t now);
  // Time passes: stores arrive, and lines are evicted.
  void pass(uint64_t now);
  // The stores of a kernel arrive, and no line is kept.
  void finish(uint64_t kernel);
  // When the stores of a kernel have arrived that something has overtaken (or all).
  uint64_t last_due(uint64_t kernel, bool all) const;
  void flush();

 private:
  Line& line_of(const char* place);
  Line* find(const char* place);
  void fetch(Line&, const char* place);
  void arrive(Line&, size_t piece);
  template <class Which>
  void arrive_of(Line&, const Which&);
  template <class Which>
  void arrive_where(const Which&);
  void add(char* place, const uint8_t* from, uint32_t bytes, const Storer&, uint64_t message);
  void limit(uint64_t line);
  void refetch();
  void forget_lines();
  void overtake(Piece&);
  bool percent(uint32_t chance) { return random_() % 100 < chance; }

  std::mutex lock_;
  Temper temper_{};
  std::mt19937_64 random_;
  uint64_t epoch_ = 1, now_ = 0, orders_ = 0, messages_ = 0;
  std::unordered_map<uint64_t, Line> lines_;       // by address / kLineBytes
  std::unordered_set<uint64_t> dirty_;             // those with pieces
  std::vector<const char*> recent_;                // lines that were loaded last
  size_t next_recent_ = 0;
};

}  // namespace ishmem_emulator::caches
