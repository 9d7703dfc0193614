#include <atomic>
#include <cstdlib>
#include <sstream>

#include "../report.hpp"
#include "card.hpp"

namespace ishmem_emulator {

static const size_t mostCards = 64;

static const Card *cardOf(const std::string &option) {
  for (const Card &card : knownCards())
    if (option == card.option) return &card;
  return nullptr;
}

static std::string options() {
  std::string text;
  for (const Card &card : knownCards()) text += (text.empty() ? "" : ", ") + std::string(card.option);
  return text;
}

// The number behind the colon of "b580:4"; 0 where it is none.
static size_t countOf(const std::string &text) {
  char *end = nullptr;
  unsigned long count = strtoul(text.c_str(), &end, 10);
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && *end == 0 && count <= mostCards ? count : 0;
}

std::vector<const Card *> parseChoice(const std::string &choice, std::string *why) {
  std::vector<const Card *> cards;
  std::istringstream entries(choice);
  for (std::string entry; std::getline(entries, entry, ',');) {
    size_t colon = entry.find(':');
    const Card *card = cardOf(entry.substr(0, colon));
    size_t count = colon == std::string::npos ? 1 : countOf(entry.substr(colon + 1));
    if (!card) *why = "card \"" + entry.substr(0, colon) + "\" is unknown; allowed: " + options();
    else if (!count) *why = "\"" + entry + "\" has no number of cards; write for example " + card->option + ":2";
    else if (cards.size() + count > mostCards) *why = "more than " + std::to_string(mostCards) + " cards";
    else {
      cards.insert(cards.end(), count, card);
      continue;
    }
    return {};
  }
  if (cards.empty()) *why = "it names no card; allowed: " + options();
  return cards;
}

namespace {

struct Choice {
  std::string text;
  std::vector<const Card *> cards;
};

std::atomic<const Choice *> current{nullptr};
std::atomic<bool> isFixed{false};

}  // namespace

// Programs look at files long before they open a device, and a fork may have other cards than its parent.
const std::vector<const Card *> &installedCards() {
  const Choice *now = current.load();
  const char *asked = getenv("ISHMEM_CARD");
  if (!asked || !*asked) asked = "b580";
  if (now && (isFixed || now->text == asked)) return now->cards;
  std::string why;
  auto *made = new Choice{asked, parseChoice(asked, &why)};  // the one before may be in use
  if (made->cards.empty()) say("ISHMEM_CARD=%s: %s. There is no card in this machine", asked, why.c_str());
  current = made;
  return made->cards;
}

void fixCards() {
  isFixed = true;
}

}  // namespace ishmem_emulator
