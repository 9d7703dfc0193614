// Puts the installed cards into /dev and /sys.
#include <atomic>
#include <cstring>

#include "../cards/card.hpp"
#include "../report.hpp"
#include "files.hpp"

namespace ishmem_emulator {

static const char *const root = "/sys/devices/pci0000:00";
static const char *const bridges = "/0000:00:01.0/0000:01:00.0/0000:02:01.0";

// Where the card is on PCI: behind bridges, as a card in a slot; an integrated GPU is a function of the processor.
static std::string addressOf(int card, const Card &row) {
  return row.integrated() ? formatted("0000:00:%02x.0", 2 + card) : formatted("0000:%02x:00.0", 3 + card);
}

static std::string folderOf(int card, const Card &row) {
  return root + std::string(row.integrated() ? "" : bridges) + "/" + addressOf(card, row);
}

static void addAttributes(Files &tree, const std::string &folder, int card, const Card &row) {
  std::string frequency = std::to_string(row.maxFrequency) + "\n";
  tree.addFile(folder + "/vendor", "0x8086\n");
  tree.addFile(folder + "/device", formatted("0x%04x\n", row.pciId));
  tree.addFile(folder + "/revision", formatted("0x%02x\n", row.revision));
  tree.addFile(folder + "/subsystem_vendor", "0x8086\n");
  tree.addFile(folder + "/subsystem_device", "0x0000\n");
  tree.addFile(folder + "/class", "0x030000\n");
  tree.addFile(folder + "/numa_node", "0\n");
  for (int tile = 0; tile < row.tiles; ++tile) {
    tree.addFile(folder + formatted("/drm/card%d/gt/gt%d/rps_max_freq_mhz", card, tile), frequency);
    tree.addFile(folder + formatted("/tile%d/gt%d/freq0/max_freq", tile, tile), frequency);
  }
}

static void addCard(Files &tree, int card, const Card &row) {
  std::string address = addressOf(card, row), folder = folderOf(card, row);
  std::string belowSys = folder.substr(strlen("/sys"));
  std::string render = formatted("renderD%d", firstRenderMinor + card), primary = formatted("card%d", card);
  tree.addDevice("/dev/dri/" + render, card);
  tree.addLink("/dev/dri/by-path/pci-" + address + "-render", "../" + render);
  addAttributes(tree, folder, card, row);
  for (const std::string &node : {render, primary}) {
    tree.addLink(folder + "/drm/" + node + "/device", "../../../" + address);
    tree.addLink("/sys/class/drm/" + node, "../.." + belowSys + "/drm/" + node);
  }
  std::string numbers = formatted("%d:%d", drmMajor, firstRenderMinor + card);
  tree.addFile(folder + "/drm/" + render + "/dev", numbers + "\n");
  tree.addLink("/sys/bus/pci/devices/" + address, "../../.." + belowSys);
  tree.addLink("/sys/dev/char/" + numbers, "../.." + belowSys + "/drm/" + render);
}

namespace {

struct Tree {
  const std::vector<const Card *> *cards;
  Files files;
};

std::atomic<const Tree *> current{nullptr};

}  // namespace

static const Tree *treeOf(const std::vector<const Card *> &cards) {
  auto *tree = new Tree{&cards, {}};  // programs open files while they end, too
  Files &made = tree->files;
  for (const char *folder : {"/dev", "/sys/class", "/sys/bus/pci/devices", "/sys/dev/char"}) made.addShared(folder);
  made.addShared(root + std::string(bridges));
  made.addDirectory("/dev/dri");
  made.addDirectory("/sys/class/drm");
  int number = 0;
  for (const Card *card : cards) addCard(made, number++, *card);
  return tree;
}

const Files &files() {
  const auto &cards = installedCards();
  const Tree *now = current;
  if (!now || now->cards != &cards) current = now = treeOf(cards);
  return now->files;
}

}  // namespace ishmem_emulator
