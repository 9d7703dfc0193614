#include "descriptors.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

#include "../cards/execution_units.hpp"
#include "../report.hpp"
#include "device_file.hpp"
#include "files.hpp"

namespace ishmem_emulator {

namespace {

using Identity = std::pair<dev_t, ino_t>;

struct Opened {
  std::mutex lock;
  std::map<Identity, std::shared_ptr<DeviceFile>> devices;
  std::map<Identity, std::string> directories;
  std::atomic<bool> any{false};
  std::atomic<pid_t> process{0};
};

Opened &opened() {
  static auto *all = new Opened;  // queues use it until the process ends
  return *all;
}

Identity identityOf(int descriptor) {
  struct stat status;
  if (syscall(SYS_fstat, descriptor, &status) != 0) return {0, 0};
  return {status.st_dev, status.st_ino};
}

int memoryFile(const std::string &name, int flags) {
  return memfd_create(name.c_str(), flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
}

// A fork copies the files, but of the threads only the one that forks: no call is under way meanwhile, and in the child
// each queue starts its thread when it is used next.
void beforeFork() {
  opened().lock.lock();
  for (auto &[identity, device] : opened().devices) device->lock();
}

void inParent() {
  for (auto &[identity, device] : opened().devices) device->unlock();
  opened().lock.unlock();
}

void inChild() {
  for (auto &[identity, device] : opened().devices) device->forgetThreads();
  forgetUnits();
  opened().process = getpid();
  inParent();
}

// The first of all libraries, so that before a fork its handler is the last: those of others open files.
__attribute__((constructor)) void handleForks() {
  opened().process = getpid();
  pthread_atfork(beforeFork, inParent, inChild);
}

}  // namespace

int openDevice(int card, int flags) {
  int descriptor = memoryFile(formatted("renderD%d", firstRenderMinor + card), flags);
  if (descriptor < 0) return -1;
  std::lock_guard<std::mutex> lock(opened().lock);
  opened().devices[identityOf(descriptor)] = std::make_shared<DeviceFile>(card);
  opened().any = true;
  trace(Level::Calls, "card %d is opened as descriptor %d", card, descriptor);
  return descriptor;
}

int openDirectory(const std::string &path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) return errno = EISDIR, -1;
  int descriptor = memoryFile("directory", flags);
  if (descriptor < 0) return -1;
  std::lock_guard<std::mutex> lock(opened().lock);
  opened().directories[identityOf(descriptor)] = path;
  return descriptor;
}

int openText(const std::string &text, int flags) {
  int descriptor = memoryFile("attribute", flags);
  if (descriptor < 0) return -1;
  if (write(descriptor, text.data(), text.size()) < 0) return -1;
  lseek(descriptor, 0, SEEK_SET);
  return descriptor;
}

std::shared_ptr<DeviceFile> deviceOf(int descriptor) {
  if (!opened().any) return nullptr;
  Identity identity = identityOf(descriptor);
  std::lock_guard<std::mutex> lock(opened().lock);
  auto found = opened().devices.find(identity);
  return found == opened().devices.end() ? nullptr : found->second;
}

std::string directoryOf(int descriptor) {
  std::lock_guard<std::mutex> lock(opened().lock);
  auto found = opened().directories.find(identityOf(descriptor));
  return found == opened().directories.end() ? "" : found->second;
}

// Whether this process has a descriptor of the file.
static bool isOpen(Identity identity) {
  static const auto open = (decltype(&opendir))dlsym(RTLD_NEXT, "opendir");
  static const auto next = (decltype(&readdir))dlsym(RTLD_NEXT, "readdir");
  static const auto close = (decltype(&closedir))dlsym(RTLD_NEXT, "closedir");
  DIR *descriptors = open("/proc/self/fd");
  if (!descriptors) return true;
  bool found = false;
  while (const struct dirent *entry = next(descriptors)) found |= identityOf(atoi(entry->d_name)) == identity;
  close(descriptors);
  return found;
}

void closed(const std::shared_ptr<DeviceFile> &device) {
  // The child of a vfork closes its own descriptors, in its parent's memory.
  if (opened().process != getpid()) return;
  std::shared_ptr<DeviceFile> last;  // freed without the lock
  std::lock_guard<std::mutex> lock(opened().lock);
  for (auto &[identity, file] : opened().devices)
    if (file == device && !isOpen(identity)) {
      last = file;
      opened().devices.erase(identity);
      return;
    }
}

void amendStatus(int descriptor, struct stat *status) {
  auto device = deviceOf(descriptor);
  if (!device) return;
  std::string path = formatted("/dev/dri/renderD%d", firstRenderMinor + device->card());
  const Node *node = files().find(path).node;
  status->st_mode = S_IFCHR | 0666;
  status->st_rdev = statusOf(*node).st_rdev;
}

}  // namespace ishmem_emulator
