#include "files.hpp"

#include <sys/sysmacros.h>

namespace ishmem_emulator {

static const int mostLinks = 40;

static std::string parentOf(const std::string &path) {
  return path.substr(0, path.rfind('/'));
}

void Files::add(const std::string &path, Node node) {
  if (path.empty()) return;
  addDirectory(parentOf(path));
  node.inode = nodes_.size() + 1;
  nodes_.emplace(path, node);
}

void Files::addDirectory(const std::string &path) {
  add(path, Node{Node::directory, false, "", 0, 0});
}

void Files::addShared(const std::string &path) {
  addDirectory(path);
  for (std::string at = path; !at.empty(); at = parentOf(at)) nodes_.at(at).shared = true;
}

void Files::addFile(const std::string &path, const std::string &text) {
  add(path, Node{Node::file, false, text, 0, 0});
}

void Files::addLink(const std::string &path, const std::string &target) {
  add(path, Node{Node::link, false, target, 0, 0});
}

void Files::addDevice(const std::string &path, int card) {
  add(path, Node{Node::device, false, "", card, 0});
}

// Walks the path's components; a link's target takes the place of its name.
Files::Found Files::find(const std::string &path, bool followLast) const {
  if (path.empty() || path[0] != '/') return {Found::notOurs, nullptr, ""};
  std::string at, rest = path;
  for (int links = 0; !rest.empty();) {
    size_t slash = rest.find('/', 1);
    std::string name = rest.substr(1, slash == std::string::npos ? slash : slash - 1);
    rest = slash == std::string::npos ? "" : rest.substr(slash);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at = parentOf(at);
      continue;
    }
    auto found = nodes_.find(at + "/" + name);
    if (found == nodes_.end()) {
      auto parent = nodes_.find(at);
      bool ours = parent != nodes_.end() && !parent->second.shared;
      return {ours ? Found::missing : Found::notOurs, nullptr, at + "/" + name};
    }
    if (found->second.kind == Node::link && (followLast || !rest.empty()) && ++links < mostLinks) {
      const std::string &target = found->second.text;
      rest = (target[0] == '/' ? "" : at + "/") + target + rest;
      at.clear();
      continue;
    }
    at += "/" + name;
  }
  auto found = nodes_.find(at);
  if (found == nodes_.end()) return {Found::notOurs, nullptr, at};
  return {Found::ours, &found->second, at};
}

std::vector<std::pair<std::string, const Node *>> Files::list(const std::string &directory) const {
  std::vector<std::pair<std::string, const Node *>> names;
  std::string prefix = directory + "/";
  for (auto at = nodes_.lower_bound(prefix); at != nodes_.end() && at->first.compare(0, prefix.size(), prefix) == 0; ++at)
    if (at->first.find('/', prefix.size()) == std::string::npos)
      names.emplace_back(at->first.substr(prefix.size()), &at->second);
  return names;
}

struct stat statusOf(const Node &node) {
  static const mode_t modes[] = {S_IFDIR | 0755, S_IFREG | 0644, S_IFLNK | 0777, S_IFCHR | 0666};
  struct stat status = {};
  status.st_mode = modes[node.kind];
  status.st_ino = node.inode;
  status.st_nlink = 1;
  status.st_size = (off_t)node.text.size();
  status.st_blksize = 4096;
  if (node.kind == Node::device) status.st_rdev = makedev(drmMajor, firstRenderMinor + node.card);
  return status;
}

}  // namespace ishmem_emulator
