#include "store.hpp"

#include <algorithm>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "sha256.hpp"

namespace simulator {

static const std::string mark = "ishmem machine code 1\n", suffix = ".machine";
static const useconds_t patience = 300000000;  // us to wait for a lock; the end of its owner frees it

static std::string sealed(const std::string &key, const std::string &value) {
  return mark + sha256(key + value) + value;
}

static std::string readAll(int file) {
  struct stat status;
  std::string data;
  if (fstat(file, &status) || status.st_uid != getuid() || !S_ISREG(status.st_mode)) return data;
  data.resize((size_t)status.st_size);
  size_t at = 0;
  for (ssize_t got; at < data.size() && (got = read(file, &data[at], data.size() - at)) > 0;) at += (size_t)got;
  data.resize(at);
  return data;
}

static bool writeAll(int file, const std::string &data) {
  size_t at = 0;
  for (ssize_t put; at < data.size() && (put = write(file, &data[at], data.size() - at)) > 0;) at += (size_t)put;
  return at == data.size();
}

bool Store::get(const std::string &key, std::string &value) const {
  int file = folder_.empty() ? -1 : open(path(key).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string data = readAll(file);
  close(file);
  const size_t head = mark.size() + 32;
  if (data.size() < head) return false;
  value = data.substr(head);
  if (data != sealed(key, value)) return false;
  utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);  // shrink() removes the least recently used files first
  return true;
}

void Store::put(const std::string &key, const std::string &value) const {
  if (!makeFolder()) return;
  std::string name = folder_ + "/new-XXXXXX";
  int file = mkostemp(&name[0], O_CLOEXEC);
  if (file < 0) return;
  bool written = writeAll(file, sealed(key, value));
  close(file);
  if (!written || rename(name.c_str(), path(key).c_str())) unlink(name.c_str());
  shrink();
}

void Store::inTurn(const std::string &key, const std::function<void()> &make) const {
  // Lock files are never removed, so keys share at most 256 of them. Keys with the same lock file run in turn.
  std::string name = folder_ + "/" + key.substr(0, 2) + ".lock";
  int file = makeFolder() ? open(name.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
  useconds_t waited = 0;
  while (file >= 0 && waited < patience && flock(file, LOCK_EX | LOCK_NB)) {
    useconds_t pause = std::min<useconds_t>(std::max<useconds_t>(waited / 20, 5000), 50000);
    usleep(pause);
    waited += pause;
  }
  make();
  if (file >= 0) close(file);
}

bool Store::makeFolder() const {
  if (folder_.empty()) return false;
  for (size_t at = folder_.find('/', 1); at != std::string::npos; at = folder_.find('/', at + 1))
    mkdir(folder_.substr(0, at).c_str(), 0700);
  mkdir(folder_.c_str(), 0700);
  struct stat status;
  return stat(folder_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid();
}

// If the limit is exceeded, removes the least recently used files until a quarter of the limit is free.
void Store::shrink() const {
  struct Found {
    int64_t time;
    uint64_t size;
    std::string path;
    bool operator<(const Found &other) const { return time < other.time; }
  };
  std::vector<Found> found;
  uint64_t total = 0;
  DIR *folder = opendir(folder_.c_str());
  while (dirent *entry = folder ? readdir(folder) : nullptr) {
    std::string path = folder_ + "/" + entry->d_name;
    struct stat status;
    if (path.size() < suffix.size() || path.compare(path.size() - suffix.size(), suffix.size(), suffix)) continue;
    if (stat(path.c_str(), &status)) continue;  // another process has removed the file
    found.push_back({status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec, (uint64_t)status.st_size, path});
    total += (uint64_t)status.st_size;
  }
  if (folder) closedir(folder);
  if (total <= limit_) return;
  std::sort(found.begin(), found.end());
  for (auto &file : found) {
    if (total <= limit_ / 4 * 3) return;
    unlink(file.path.c_str());
    total -= file.size;
  }
}

}  // namespace simulator
