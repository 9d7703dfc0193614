// Memory regions of a card, by their instances: 0 is the host's, 1 and on are those of the tiles.
#pragma once

#include <cstdint>

#include "../cards/card.hpp"

namespace ishmem_emulator {

const uint64_t hostPage = 4096, vramPage = 65536;
const uint32_t hostRegion = 0;

inline uint32_t regionOf(int tile) { return (uint32_t)tile + 1; }

// Mask of instances.
inline uint32_t regionsOf(const Card &card) {
  return card.integrated() ? 1u << hostRegion : (1u << regionOf(card.tiles)) - 1;
}

inline uint32_t nearRegions(const Card &card, int tile) {
  return 1u << (card.integrated() ? hostRegion : regionOf(tile));
}

}  // namespace ishmem_emulator
