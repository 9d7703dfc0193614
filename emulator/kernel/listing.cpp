#include "listing.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <set>

#include "files.hpp"

namespace ishmem_emulator {

static struct dirent entryOf(const std::string &name, unsigned char type, ino_t inode) {
  struct dirent entry = {};
  entry.d_ino = inode;
  entry.d_type = type;
  entry.d_reclen = sizeof entry;
  name.copy(entry.d_name, sizeof entry.d_name - 1);
  return entry;
}

Listing::Listing(const std::string &directory, const std::vector<std::string> &others) {
  static const unsigned char types[] = {DT_DIR, DT_REG, DT_LNK, DT_CHR};
  for (const char *name : {".", ".."}) entries_.push_back(entryOf(name, DT_DIR, 1));
  std::set<std::string> ours;
  for (const auto &[name, node] : files().list(directory)) {
    entries_.push_back(entryOf(name, types[node->kind], node->inode));
    ours.insert(name);
  }
  for (const std::string &name : others)
    if (!ours.count(name)) entries_.push_back(entryOf(name, DT_UNKNOWN, 1));
}

struct dirent *Listing::next() {
  return at_ < entries_.size() ? &entries_[at_++] : nullptr;
}

static std::mutex lock;

static std::set<void *> &published() {
  static auto *listings = new std::set<void *>;  // programs close directories while they end, too
  return *listings;
}

DIR *Listing::publish(Listing *listing) {
  std::lock_guard<std::mutex> guard(lock);
  published().insert(listing);
  return (DIR *)listing;
}

Listing *Listing::of(DIR *directory) {
  std::lock_guard<std::mutex> guard(lock);
  return published().count(directory) ? (Listing *)directory : nullptr;
}

void Listing::close(DIR *directory) {
  std::lock_guard<std::mutex> guard(lock);
  published().erase(directory);
  delete (Listing *)directory;
}

}  // namespace ishmem_emulator
