// The thread groups that have hardware threads: as many as fit a card's threads, local memory and barriers.
#pragma once

#include <cstdint>
#include <vector>

#include "execution.hpp"

namespace ishmem_emulator::eu {

struct Room {
  int core = -1;
  uint32_t slm_bytes = 0, barriers = 0;
  std::vector<uint32_t> slots;  // numbers of hardware threads of the card
};

class Residency {
 public:
  explicit Residency(const CardModel&);
  // False: no core has room now.
  bool take(const Walker&, Room&);
  void give_back(const Room&);
  // Whether an empty core has room; if not, `why` says what is too much.
  bool fits(const Walker&, std::string* why) const;

 private:
  struct Core {
    std::vector<uint32_t> free;
    uint32_t slm_bytes, barriers;
  };
  uint32_t slots_for(const Walker& w) const { return w.threads_per_group * (w.large_grf ? 2 : 1); }

  std::vector<Core> cores_;
  uint32_t threads_per_core_, slm_bytes_;
  size_t next_ = 0;
};

}  // namespace ishmem_emulator::eu
