#include "store.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <vector>

#include "serial.hpp"

namespace simulator {

namespace fs = std::filesystem;

static const std::string mark = "ishmem machine code 2\n", suffix = ".machine";
static const useconds_t patience = 300000000;  // us to wait for a lock; the end of its owner frees it

// What the file of a value holds: mark, key, value and a hash of these.
static std::string sealed(const std::string &key, const std::string &value) {
  std::string data = mark;
  put(data, key);
  put(data, value);
  put(data, (uint64_t)std::hash<std::string>()(data));
  return data;
}

std::string MachineCodeStore::path(const std::string &key) const {
  char name[17];
  snprintf(name, sizeof name, "%016llx", (unsigned long long)std::hash<std::string>()(key));
  return folder_ + "/" + name + suffix;
}

bool MachineCodeStore::get(const std::string &key, std::string &value) const {
  struct stat status;
  if (folder_.empty() || stat(path(key).c_str(), &status) || status.st_uid != getuid()) return false;
  std::string data((size_t)status.st_size, '\0');
  size_t at = mark.size();
  std::string other;
  if (!std::ifstream(path(key), std::ios::binary).read(&data[0], status.st_size) || at > data.size()) return false;
  if (!take(data, at, other) || !take(data, at, value) || data != sealed(key, value)) return false;
  utimensat(AT_FDCWD, path(key).c_str(), nullptr, 0);  // shrink() removes the least recently used files first
  return true;
}

void MachineCodeStore::put(const std::string &key, const std::string &value) const {
  if (!makeFolder()) return;
  std::string name = folder_ + "/new-XXXXXX" + suffix;  // shrink() counts it if this process is killed
  const int created = mkostemps(&name[0], (int)suffix.size(), O_CLOEXEC);
  if (created < 0) return;
  close(created);
  std::ofstream file(name, std::ios::binary);
  file << sealed(key, value);
  file.close();
  if (!file || rename(name.c_str(), path(key).c_str())) unlink(name.c_str());
  shrink();
}

void MachineCodeStore::inTurn(const std::string &key, const std::function<void()> &make) const {
  // Lock files are never removed, so keys share at most 256 of them. Keys with the same lock file run in turn.
  const std::string name = path(key).substr(0, folder_.size() + 3) + ".lock";
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

bool MachineCodeStore::makeFolder() const {
  std::error_code error;
  if (fs::create_directories(folder_, error)) fs::permissions(folder_, fs::perms::owner_all, error);
  struct stat status;
  return stat(folder_.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == getuid();
}

// If the limit is exceeded, removes the least recently used files until a quarter of the limit is free.
void MachineCodeStore::shrink() const {
  std::vector<std::tuple<fs::file_time_type, uint64_t, fs::path>> found;
  uint64_t total = 0;
  std::error_code ended, gone;
  for (fs::directory_iterator at(folder_, ended), end; !ended && at != end; at.increment(ended)) {
    if (at->path().extension() != suffix) continue;
    const auto time = at->last_write_time(gone);
    const uint64_t size = gone ? 0 : at->file_size(gone);
    if (gone) continue;  // another process has removed the file
    found.emplace_back(time, size, at->path());
    total += size;
  }
  if (total <= limit_) return;
  std::sort(found.begin(), found.end());
  for (auto &[time, size, path] : found) {
    if (total <= limit_ / 4 * 3) return;
    fs::remove(path, gone);
    total -= size;
  }
}

}  // namespace simulator
