// The cards that can be emulated, and those that ISHMEM_CARD puts into this machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ishmem_emulator {

// One row of the table. Counts are those of one tile; a tile is a device.
struct Card {
  const char *option;  // the card's name in ISHMEM_CARD
  uint16_t pciId;
  uint8_t revision;
  uint8_t major, minor, graphicsRevision;  // version of the graphics IP
  int tiles;
  int xeCores, eusPerCore = 8, threadsPerEu = 8;
  int slmPerCore = 128, l3Banks, l3BankSize;  // KiB
  int computeEngines, copyEngines;
  bool renderEngine;
  uint64_t memory;  // bytes; 0: an integrated GPU, which uses the host's
  int memoryChannels, memoryType;  // the type as in the kernel's hardware configuration table
  int addressBits, maxFrequency;  // MHz
  bool peerAtomics;  // atomics reach other cards' memory: Xe Link, not PCIe

  bool integrated() const { return memory == 0; }
  bool isXe2() const { return major >= 20; }
  int generation() const { return major * 100 + minor; }
};

const uint32_t referenceClock = 19200000;  // Hz, of timestamps

const std::vector<Card> &knownCards();

// Parse a choice such as "b580:2,lnl". Returns the cards, one entry for each; where the text is wrong, returns none and
// sets `why`.
std::vector<const Card *> parseChoice(const std::string &choice, std::string *why);

// The cards of this machine, by number: as ISHMEM_CARD says, or else one B580. Until `fixCards`, which the first open
// device calls, they follow the variable.
const std::vector<const Card *> &installedCards();
void fixCards();

}  // namespace ishmem_emulator
