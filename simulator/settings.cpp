#include "settings.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <sstream>
#include <strings.h>
#include <unistd.h>

namespace simulator {

static const uint64_t mostDevices = 1024;

static std::string text(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value && *value ? value : otherwise;
}

static uint64_t number(const char *name, uint64_t otherwise, uint64_t most = UINT64_MAX) {
  std::string value = text(name, "");
  if (value.empty()) return otherwise;
  char *end = nullptr;
  int shift = 0;
  errno = 0;
  uint64_t result = strtoull(value.c_str(), &end, 0);
  switch (*end) {
    case 'K': case 'k': shift = 10, ++end; break;
    case 'M': case 'm': shift = 20, ++end; break;
    case 'G': case 'g': shift = 30, ++end; break;
  }
  if (isdigit((unsigned char)value[0]) && *end == 0 && errno == 0 && result <= most >> shift) return result << shift;
  complain("%s=%s is not a number up to %llu; %llu is used", name, value.c_str(), (unsigned long long)most,
           (unsigned long long)otherwise);
  return otherwise;
}

using Words = std::initializer_list<const char *>;

// Returns the enumerator of a word, of which `words` has those of all enumerators. For another word, complains with the
// text `where` before it, and returns the first enumerator.
template <class Enumeration>
static Enumeration enumerator(const std::string &word, Words words, const std::string &where) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found != words.end()) return (Enumeration)(found - words.begin());
  complain("%s%s is unknown; %s is used", where.c_str(), word.c_str(), *words.begin());
  return Enumeration{};
}

static std::vector<DeviceKind> deviceKinds(uint32_t count) {
  std::vector<DeviceKind> kinds(count, DeviceKind::discrete);
  const std::string given = text("ISHMEM_SIM_KINDS", "");
  std::istringstream entries(given);
  size_t at = 0;
  for (std::string entry; at < count && std::getline(entries, entry, ','); ++at)
    kinds[at] = enumerator<DeviceKind>(entry, {"discrete", "integrated", "npu"}, "ISHMEM_SIM_KINDS=" + given + ": ");
  return kinds;
}

static std::vector<uint32_t> devicesOf(const std::vector<DeviceKind> &kinds, bool areNpus) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < kinds.size(); ++i)
    if ((kinds[i] == DeviceKind::npu) == areNpus) found.push_back(i);
  return found;
}

// Returns the GPU that an entry of a mask names; a tile ("0.1") only where tiles are parts of cards, as for a driver.
static size_t maskedDevice(const std::string &entry, uint32_t card) {
  unsigned gpu = 0, tile = 0;
  char dot = 0, rest = 0;
  const int read = sscanf(entry.c_str(), "%u%c%u%c", &gpu, &dot, &tile, &rest);
  if (read == 1) return gpu;
  const bool isTile = read == 3 && dot == '.' && tile < card;
  return isTile && text("ZE_FLAT_DEVICE_HIERARCHY", "FLAT") == "COMPOSITE" ? size_t(gpu) * card + tile : SIZE_MAX;
}

// Ignores entries that name no GPU, as a driver does. Other devices do not count.
static std::vector<uint32_t> visibleDevices(const std::vector<DeviceKind> &kinds, uint32_t card) {
  const std::vector<uint32_t> gpus = devicesOf(kinds, false);
  std::string mask = text("ZE_AFFINITY_MASK", "");
  if (mask.empty()) return gpus;
  std::vector<uint32_t> devices;
  std::istringstream entries(mask);
  for (std::string entry; std::getline(entries, entry, ',');) {
    const size_t index = maskedDevice(entry, card);
    if (index < gpus.size()) devices.push_back(gpus[index]);
  }
  return devices;
}

const char *const faultNames[faultCount] = {"alloc", "ipc-open", "resident", "build", "launch", "copy"};

// Removes a suffix "@pe" from the value. Returns whether the value applies to this process.
static bool isForThisPe(std::string &value) {
  size_t at = value.find('@');
  if (at == std::string::npos) return true;
  std::string pe = value.substr(at + 1);
  value.resize(at);
  return pe == text("ISHMEM_PE", "0");
}

// Parses a positive number. Returns 0 if the text is not one.
static uint64_t positive(const std::string &value) {
  char *end = nullptr;
  uint64_t result = strtoull(value.c_str(), &end, 10);
  return !value.empty() && isdigit((unsigned char)value[0]) && *end == 0 ? result : 0;
}

// Parses entries such as launch:5@1.
static void readFaults(uint64_t (&failAt)[faultCount]) {
  std::istringstream entries(text("ISHMEM_SIM_FAIL", ""));
  for (std::string entry; std::getline(entries, entry, ',');) {
    std::string given = entry;
    bool mine = isForThisPe(entry);
    size_t colon = entry.find(':');
    std::string name = entry.substr(0, colon);
    uint64_t at = colon == std::string::npos ? 0 : positive(entry.substr(colon + 1));
    int kind = 0;
    while (kind < faultCount && name != faultNames[kind]) ++kind;
    if (at == 0 || kind == faultCount)
      complain("ISHMEM_SIM_FAIL=%s is none of alloc:N, ipc-open:N, resident:N, build:N, launch:N, copy:N, each with or "
               "without @PE; ignored",
               given.c_str());
    else if (mine)
      failAt[kind] = at;
  }
}

static uint32_t slowness() {
  const uint64_t hour = 3600000000;
  std::string given = text("ISHMEM_SIM_SLOW", "0"), value = given;
  bool mine = isForThisPe(value);
  uint64_t result = positive(value);
  if (value != "0" && (result == 0 || result > hour)) {
    complain("ISHMEM_SIM_SLOW=%s is not a number of microseconds, with or without @PE; ignored", given.c_str());
    return 0;
  }
  return mine ? (uint32_t)result : 0;
}

static bool isOneOf(const std::string &value, Words words) {
  return std::any_of(words.begin(), words.end(), [&](const char *word) { return strcasecmp(word, value.c_str()) == 0; });
}

// The folder for machine code; empty: none is kept. The same variables set the folder of ishmem's kernel cache, and
// ishmem/environment/settings.py takes the same words for on and off.
static std::string machineCode() {
  std::string folder = text("ISHMEM_KERNEL_CACHE", "auto"), home = text("HOME", "");
  if (isOneOf(folder, {"0", "false", "no", "off"})) return "";
  if (!isOneOf(folder, {"auto", "1", "true", "yes", "on"})) {
    if (folder.find('/') != std::string::npos) return folder + "/machine";
    complain("ISHMEM_KERNEL_CACHE=%s is not auto, off, or a folder (with a /); no machine code is kept", folder.c_str());
    return "";
  }
  std::string cache = text("XDG_CACHE_HOME", home.empty() ? "" : (home + "/.cache").c_str());
  return cache.empty() ? "" : cache + "/ishmem/machine";
}

static uint64_t machineCodeSize() {
  std::string value = text("ISHMEM_KERNEL_CACHE_SIZE", "256M");
  char *end = nullptr;
  double size = strtod(value.c_str(), &end);
  const char *units = "KMGT", *unit = *end ? strchr(units, toupper((unsigned char)*end)) : nullptr;
  if (unit) size *= (double)(1ull << 10 * (unit - units + 1));
  return size > 0 ? (uint64_t)size : 256 << 20;
}

// Nanoseconds that a kernel may run; 0: no limit. ishmem run, or else a PE's own watchdog, reports a PE that is in a kernel for
// too long within a second, and asks `ishmemLongKernel`; PEs then have 3 s to end.
static uint64_t kernelLimit() {
  std::string value = text("ISHMEM_TIMEOUT", "");
  if (value.empty()) return 0;
  char *end = nullptr;
  double seconds = strtod(value.c_str(), &end);
  if (*end || !(seconds > 0) || seconds > 1e9) {
    complain("ISHMEM_TIMEOUT=%s is not a number of seconds above 0; ignored", value.c_str());
    return 0;
  }
  return (uint64_t)((seconds + 2) * 1e9);
}

static Settings read() {
  Settings s = {};
  s.kinds = deviceKinds((uint32_t)number("ISHMEM_SIM_DEVICES", 1, mostDevices));
  s.card = (uint32_t)std::max<uint64_t>(number("ISHMEM_SIM_CARD", 1, mostDevices), 1);
  s.devices = visibleDevices(s.kinds, s.card);
  s.npus = devicesOf(s.kinds, true);
  s.memory = number("ISHMEM_SIM_MEMORY", 16ull << 30);
  s.optimise = number("ISHMEM_SIM_OPTIMISE", 32 << 10);
  if (text("ISHMEM_SIM_VECTORISE", "auto") != "auto") s.vectorise = number("ISHMEM_SIM_VECTORISE", 0);
  const Words ipcModes = {"fd", "pool", "tiles", "opaque", "opaque-strict"}, peers = {"atomics", "access", "none", "wrong"};
  s.ipc = enumerator<IpcMode>(text("ISHMEM_SIM_IPC", "fd"), ipcModes, "ISHMEM_SIM_IPC=");
  s.peers = enumerator<Peers>(text("ISHMEM_SIM_PEERS", "atomics"), peers, "ISHMEM_SIM_PEERS=");
  s.engines = (uint32_t)number("ISHMEM_SIM_ENGINES", 64);
  s.hostAtomics = number("ISHMEM_SIM_HOST_ATOMICS", 1);
  s.inlineWork = number("ISHMEM_SIM_INLINE", 0);
  s.checks = !isOneOf(text("ISHMEM_CHECK", "0"), {"0", "false", "no", "off"});
  s.strict = number("ISHMEM_SIM_STRICT", 0);
  readFaults(s.failAt);
  s.slow = slowness();
  s.trace = (int)number("ISHMEM_SIM_TRACE", 0);
  s.machineCode = machineCode();
  s.machineCodeSize = machineCodeSize();
  s.compileLimit = number("ISHMEM_SIM_COMPILE_LIMIT", 600, 86400);
  s.kernelLimit = kernelLimit();
  s.opencl = text("ISHMEM_SIM_OPENCL", "libintelocl.so");
  return s;
}

const Settings &settings() {
  static const Settings *s = new Settings(read());  // never destroyed: worker threads may outlive main
  return *s;
}

void complain(const char *format, ...) {
  char line[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  fprintf(stderr, "[simulator %d] %s\n", (int)getpid(), line);
}

}  // namespace simulator
