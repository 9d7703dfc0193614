// The C library's functions for files: calls for emulated files are answered here, all others by the functions that
// these replace. Descriptors are real ones (of memfds), so that the kernel duplicates, passes and closes them.
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../report.hpp"
#include "descriptors.hpp"
#include "files.hpp"
#include "ioctls.hpp"
#include "listing.hpp"

using namespace ishmem_emulator;

#define EXPORT extern "C" __attribute__((visibility("default")))
// The function that follows ours in the order of libraries.
#define NEXT(name) \
  static const auto next = (decltype(&name))dlsym(RTLD_NEXT, #name)

static int fail(int error) {
  errno = error;
  return -1;
}

static Files::Found look(const char *path, bool followLast = true) {
  // Programs open files before this library is initialised, and most are none of ours.
  bool candidate = path && (!strncmp(path, "/sys", 4) || !strncmp(path, "/dev", 4));
  return candidate ? files().find(path, followLast) : Files::Found{Files::Found::notOurs, nullptr, ""};
}

// Opens a file of ours. Returns whether it was one; `result` is the descriptor, or -1 with errno.
static bool openOurs(const char *path, int flags, int *result) {
  Files::Found found = look(path, !(flags & O_NOFOLLOW));
  if (found.isTheMachines()) return false;
  if (!found.node) *result = fail(ENOENT);
  else if (found.node->kind == Node::device) *result = openDevice(found.node->card, flags);
  else if (found.node->kind == Node::directory) *result = openDirectory(found.path, flags);
  else *result = openText(found.node->text, flags);
  return true;
}

static int openAt(int directory, const char *path, int flags, mode_t mode) {
  int result;
  if (openOurs(path, flags, &result)) return result;
  return (int)syscall(SYS_openat, directory, path, flags, mode);
}

static mode_t modeOf(int flags, va_list arguments) {
  return flags & (O_CREAT | __O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name, more)                                   \
  EXPORT int name(const char *path, int flags, ...) {      \
    va_list arguments;                                     \
    va_start(arguments, flags);                            \
    mode_t mode = modeOf(flags, arguments);                \
    va_end(arguments);                                     \
    return openAt(AT_FDCWD, path, flags | (more), mode);   \
  }
OPEN(open, 0)
OPEN(open64, O_LARGEFILE)
OPEN(__open, 0)
OPEN(__open64, O_LARGEFILE)
#define OPENAT(name, more)                                          \
  EXPORT int name(int directory, const char *path, int flags, ...) { \
    va_list arguments;                                              \
    va_start(arguments, flags);                                     \
    mode_t mode = modeOf(flags, arguments);                         \
    va_end(arguments);                                              \
    return openAt(directory, path, flags | (more), mode);           \
  }
OPENAT(openat, 0)
OPENAT(openat64, O_LARGEFILE)
// What the C library's headers call in place of open where they check the arguments.
EXPORT int __open_2(const char *path, int flags) { return openAt(AT_FDCWD, path, flags, 0); }
EXPORT int __open64_2(const char *path, int flags) { return openAt(AT_FDCWD, path, flags | O_LARGEFILE, 0); }
EXPORT int __openat_2(int directory, const char *path, int flags) { return openAt(directory, path, flags, 0); }
EXPORT int __openat64_2(int directory, const char *path, int flags) {
  return openAt(directory, path, flags | O_LARGEFILE, 0);
}

// Opens a stream on a file of ours. Returns whether it was one.
static bool streamOurs(const char *path, const char *mode, FILE **result) {
  int descriptor;
  if (!openOurs(path, (strpbrk(mode, "wa+") ? O_RDWR : O_RDONLY) | O_CLOEXEC, &descriptor)) return false;
  *result = descriptor < 0 ? nullptr : fdopen(descriptor, mode);
  return true;
}

#define FOPEN(name)                                        \
  EXPORT FILE *name(const char *path, const char *mode) {  \
    NEXT(name);                                            \
    FILE *result;                                          \
    return streamOurs(path, mode, &result) ? result : next(path, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

EXPORT int close(int descriptor) {
  auto device = deviceOf(descriptor);
  int result = (int)syscall(SYS_close, descriptor);
  if (device) closed(device);
  return result;
}

EXPORT int ioctl(int descriptor, unsigned long request, ...) {
  va_list arguments;
  va_start(arguments, request);
  void *argument = va_arg(arguments, void *);
  va_end(arguments);
  auto device = _IOC_TYPE(request) == 'd' ? deviceOf(descriptor) : nullptr;
  return device ? deviceCall(*device, request, argument) : (int)syscall(SYS_ioctl, descriptor, request, argument);
}

static void *mapping(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
  auto device = descriptor >= 0 && isBufferOffset((uint64_t)offset) ? deviceOf(descriptor) : nullptr;
  if (device) return mapBuffer(*device, address, size, protection, flags, (uint64_t)offset);
  return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) noexcept {
  return mapping(address, size, protection, flags, descriptor, offset);
}
EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int descriptor, off64_t offset) noexcept {
  return mapping(address, size, protection, flags, descriptor, offset);
}

static void fill(const struct stat &status, void *into) {
  static_assert(sizeof(struct stat) == sizeof(struct stat64), "both are the same on 64 bits");
  memcpy(into, &status, sizeof status);
}

// The status of a file of ours. Returns whether it was one; of what the machine has, too, the machine's status is taken.
static bool statOurs(const char *path, bool followLast, void *into, int *result) {
  Files::Found found = look(path, followLast);
  if (found.isTheMachines()) return false;
  if (found.node) fill(statusOf(*found.node), into);
  *result = found.node ? 0 : fail(ENOENT);
  return true;
}

static int statAt(int directory, const char *path, void *into, int flags) {
  int result;
  if (statOurs(path, !(flags & AT_SYMLINK_NOFOLLOW), into, &result)) return result;
  result = (int)syscall(SYS_newfstatat, directory, path, into, flags);
  if (result == 0 && path && !*path && flags & AT_EMPTY_PATH) amendStatus(directory, (struct stat *)into);
  return result;
}

#define STAT(type, suffix)                                                                              \
  EXPORT int stat##suffix(const char *path, type *into) noexcept { return statAt(AT_FDCWD, path, into, 0); } \
  EXPORT int lstat##suffix(const char *path, type *into) noexcept {                                     \
    return statAt(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);                                           \
  }                                                                                                     \
  EXPORT int fstat##suffix(int descriptor, type *into) noexcept { return statAt(descriptor, "", into, AT_EMPTY_PATH); } \
  EXPORT int fstatat##suffix(int directory, const char *path, type *into, int flags) noexcept {         \
    return statAt(directory, path, into, flags);                                                        \
  }                                                                                                     \
  /* What programs built against a C library before 2.33 call. */                                       \
  EXPORT int __xstat##suffix(int, const char *path, type *into) noexcept { return statAt(AT_FDCWD, path, into, 0); } \
  EXPORT int __lxstat##suffix(int, const char *path, type *into) noexcept {                             \
    return statAt(AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);                                           \
  }                                                                                                     \
  EXPORT int __fxstat##suffix(int, int descriptor, type *into) noexcept {                               \
    return statAt(descriptor, "", into, AT_EMPTY_PATH);                                                 \
  }
STAT(struct stat, )
STAT(struct stat64, 64)

static int accessAt(int directory, const char *path, int mode) {
  Files::Found found = look(path);
  if (found.isTheMachines()) return (int)syscall(SYS_faccessat, directory, path, mode);
  return found.node ? 0 : fail(ENOENT);
}

EXPORT int access(const char *path, int mode) noexcept { return accessAt(AT_FDCWD, path, mode); }
EXPORT int faccessat(int directory, const char *path, int mode, int) noexcept { return accessAt(directory, path, mode); }

static ssize_t linkAt(int directory, const char *path, char *into, size_t size) {
  Files::Found found = look(path, false);
  if (found.isTheMachines()) return syscall(SYS_readlinkat, directory, path, into, size);
  if (!found.node) return fail(ENOENT);
  if (found.node->kind != Node::link) return fail(EINVAL);
  return (ssize_t)found.node->text.copy(into, size);
}

EXPORT ssize_t readlink(const char *path, char *into, size_t size) noexcept {
  return linkAt(AT_FDCWD, path, into, size);
}
EXPORT ssize_t readlinkat(int directory, const char *path, char *into, size_t size) noexcept {
  return linkAt(directory, path, into, size);
}

EXPORT char *realpath(const char *path, char *into) noexcept {
  NEXT(realpath);
  Files::Found found = look(path);
  if (found.isTheMachines()) return next(path, into);
  if (!found.node) return errno = ENOENT, nullptr;
  if (!into) return strdup(found.path.c_str());
  return strncpy(into, found.path.c_str(), PATH_MAX);
}

// The names in a directory that the machine has, too.
static std::vector<std::string> namesOf(DIR *directory) {
  static const auto nextEntry = (decltype(&readdir))dlsym(RTLD_NEXT, "readdir");
  static const auto closeReal = (decltype(&closedir))dlsym(RTLD_NEXT, "closedir");
  std::vector<std::string> names;
  if (!directory) return names;
  while (const struct dirent *entry = nextEntry(directory))
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) names.push_back(entry->d_name);
  closeReal(directory);
  return names;
}

EXPORT DIR *opendir(const char *path) {
  NEXT(opendir);
  Files::Found found = look(path);
  if (found.outcome == Files::Found::notOurs) return next(path);
  if (!found.node) return errno = ENOENT, nullptr;
  if (found.node->kind != Node::directory) return errno = ENOTDIR, nullptr;
  return Listing::publish(
      new Listing(found.path, found.node->shared ? namesOf(next(path)) : std::vector<std::string>()));
}

EXPORT DIR *fdopendir(int descriptor) {
  NEXT(fdopendir);
  std::string path = directoryOf(descriptor);
  if (path.empty()) return next(descriptor);
  close(descriptor);
  return Listing::publish(new Listing(path, {}));
}

EXPORT struct dirent *readdir(DIR *directory) {
  NEXT(readdir);
  Listing *ours = Listing::of(directory);
  return ours ? ours->next() : next(directory);
}
EXPORT struct dirent64 *readdir64(DIR *directory) {
  NEXT(readdir64);
  Listing *ours = Listing::of(directory);
  return ours ? (struct dirent64 *)ours->next() : next(directory);
}
EXPORT int closedir(DIR *directory) {
  NEXT(closedir);
  if (!Listing::of(directory)) return next(directory);
  Listing::close(directory);
  return 0;
}
EXPORT void rewinddir(DIR *directory) noexcept {
  NEXT(rewinddir);
  Listing *ours = Listing::of(directory);
  ours ? ours->rewind() : next(directory);
}
EXPORT long telldir(DIR *directory) noexcept {
  NEXT(telldir);
  Listing *ours = Listing::of(directory);
  return ours ? ours->position() : next(directory);
}
EXPORT void seekdir(DIR *directory, long position) noexcept {
  NEXT(seekdir);
  Listing *ours = Listing::of(directory);
  ours ? ours->seek(position) : next(directory, position);
}
