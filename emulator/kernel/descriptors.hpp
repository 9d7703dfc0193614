// Descriptors of the emulated files. The inode identifies the file, so there is no table to update when a descriptor is
// duplicated, inherited, or closed by a system call that is not intercepted.
#pragma once

#include <memory>
#include <string>
#include <sys/stat.h>

namespace ishmem_emulator {

class DeviceFile;

// As open; each returns a descriptor, or -1 with errno.
int openDevice(int card, int flags);
int openDirectory(const std::string &path, int flags);
int openText(const std::string &text, int flags);

std::shared_ptr<DeviceFile> deviceOf(int descriptor);  // null if it is not a card's
std::string directoryOf(int descriptor);               // the path of a directory of ours, or ""

// After a descriptor of the device file was closed: with the last, the file's objects are freed.
void closed(const std::shared_ptr<DeviceFile> &device);

// Makes the status of a descriptor's memfd that of the card's device file.
void amendStatus(int descriptor, struct stat *status);

}  // namespace ishmem_emulator
