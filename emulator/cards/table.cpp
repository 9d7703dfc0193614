#include "card.hpp"

namespace ishmem_emulator {

enum MemoryType { lpddr5 = 1, hbm2e = 3, gddr6 = 4 };

static const uint64_t GiB = 1ull << 30;

const std::vector<Card> &knownCards() {
  static const auto &cards = *[] {
    Card b580{};
    b580.option = "b580";  // Arc B580
    b580.pciId = 0xe20b, b580.revision = 0, b580.major = 20, b580.minor = 1, b580.graphicsRevision = 4;
    b580.tiles = 1, b580.xeCores = 20, b580.l3Banks = 36, b580.l3BankSize = 512;
    b580.renderEngine = true, b580.computeEngines = 1, b580.copyEngines = 1;
    b580.memory = 12 * GiB, b580.memoryChannels = 12, b580.memoryType = gddr6;
    b580.addressBits = 48, b580.maxFrequency = 2850, b580.peerAtomics = false;

    Card max1550{};
    max1550.option = "max1550";  // Data Center GPU Max 1550
    max1550.pciId = 0x0bd5, max1550.revision = 0x2f, max1550.major = 12, max1550.minor = 60, max1550.graphicsRevision = 7;
    max1550.tiles = 2, max1550.xeCores = 64, max1550.l3Banks = 64, max1550.l3BankSize = 3264;
    max1550.renderEngine = false, max1550.computeEngines = 4, max1550.copyEngines = 9;
    max1550.memory = 64 * GiB, max1550.memoryChannels = 32, max1550.memoryType = hbm2e;
    max1550.addressBits = 57, max1550.maxFrequency = 1600, max1550.peerAtomics = true;

    Card lnl{};
    lnl.option = "lnl";  // Lunar Lake, Arc 140V
    lnl.pciId = 0x64a0, lnl.revision = 4, lnl.major = 20, lnl.minor = 4, lnl.graphicsRevision = 4;
    lnl.tiles = 1, lnl.xeCores = 8, lnl.l3Banks = 16, lnl.l3BankSize = 512;
    lnl.renderEngine = true, lnl.computeEngines = 1, lnl.copyEngines = 1;
    lnl.memory = 0, lnl.memoryChannels = 8, lnl.memoryType = lpddr5;
    lnl.addressBits = 48, lnl.maxFrequency = 2050, lnl.peerAtomics = false;

    return new std::vector<Card>{b580, max1550, lnl};
  }();
  return cards;
}

}  // namespace ishmem_emulator
