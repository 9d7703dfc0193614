#include "counters.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace ishmem_emulator::eu {
namespace {

const char* const kNames[kMessageKinds] = {
    "load", "block_load", "store", "block_store", "atomic", "fence", "prefetch", "slm_load", "slm_store", "slm_atomic",
    "slm_fence", "scratch_load", "scratch_store", "barrier", "end"};

std::string line_of(const Walker& w, uint64_t groups, const Counts& counts) {
  std::ostringstream line;
  line << "{\"pid\": " << getpid() << ", \"kernel\": " << w.kernel_start << ", \"simd\": " << w.simd
       << ", \"groups\": " << groups << ", \"threads\": " << groups * w.threads_per_group
       << ", \"instructions\": " << counts.instructions << ", \"messages\": {";
  for (int k = 0; k < kMessageKinds; ++k) line << (k ? ", \"" : "\"") << kNames[k] << "\": " << counts.messages[k];
  line << "}}\n";
  return line.str();
}

}  // namespace

void report_counts(const Walker& w, uint64_t groups, const Counts& counts) {
  const char* path = getenv("ISHMEM_CARD_COUNT");
  if (!path || !*path) return;
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0) return;
  const std::string line = line_of(w, groups, counts);  // one write, so that processes do not mix their lines
  if (write(file, line.data(), line.size()) < 0) perror("ISHMEM_CARD_COUNT");
  close(file);
}

}  // namespace ishmem_emulator::eu
