#include "execution_units.hpp"

#include <cstdlib>
#include <map>
#include <mutex>

#include "card.hpp"

namespace ishmem_emulator {

namespace {

struct AllUnits {
  std::mutex lock;
  std::map<std::pair<int, int>, std::unique_ptr<ExecutionUnits>> of;
};

AllUnits *&all() {
  static auto *units = new AllUnits;
  return units;
}

CardModel modelOf(const Card &card) {
  const char *seed = getenv("ISHMEM_CARD_SEED");
  CardModel model{};
  model.generation = card.generation();
  model.xe_cores = card.xeCores;
  model.eus_per_core = card.eusPerCore;
  model.threads_per_eu = card.threadsPerEu;
  model.slm_bytes_per_core = card.slmPerCore * 1024;
  model.seed = seed ? strtoull(seed, nullptr, 0) : 0;
  return model;
}

}  // namespace

ExecutionUnits &unitsOf(int card, int tile) {
  std::lock_guard<std::mutex> guard(all()->lock);
  auto &units = all()->of[{card, tile}];
  if (!units) units = std::make_unique<ExecutionUnits>(modelOf(*installedCards()[(size_t)card]));
  return *units;
}

void forgetUnits() {
  all() = new AllUnits;
}

}  // namespace ishmem_emulator
