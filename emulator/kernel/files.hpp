// The files of /dev and /sys that a kernel with these cards has. They exist in this process's memory only.
#pragma once

#include <map>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace ishmem_emulator {

struct Node {
  enum Kind { directory, file, link, device };
  Kind kind;
  bool shared;       // directory: the machine has others there, too
  std::string text;  // contents of a file, target of a link
  int card;          // device: the card's number
  ino_t inode;
};

class Files {
 public:
  struct Found {
    enum Outcome { ours, missing, notOurs } outcome;
    const Node *node;
    std::string path;  // without links

    bool isTheMachines() const { return outcome == notOurs || (node && node->shared); }
  };

  Found find(const std::string &path, bool followLast = true) const;
  std::vector<std::pair<std::string, const Node *>> list(const std::string &directory) const;

  void addDirectory(const std::string &path);
  void addFile(const std::string &path, const std::string &text);
  void addLink(const std::string &path, const std::string &target);
  void addDevice(const std::string &path, int card);
  // Directories that the machine has by itself; within all others, what is not ours is missing.
  void addShared(const std::string &path);

 private:
  void add(const std::string &path, Node node);

  std::map<std::string, Node> nodes_;
};

// The status of a node, as stat gives it.
struct stat statusOf(const Node &node);

const int drmMajor = 226, firstRenderMinor = 128;

// Those of the installed cards.
const Files &files();

}  // namespace ishmem_emulator
