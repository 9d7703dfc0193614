#include "resident.hpp"

#include <algorithm>
#include <cstdio>

namespace ishmem_emulator::eu {
namespace {

constexpr uint64_t kTurn = 4096;  // instructions of a thread

}  // namespace

std::string Resident::where(const Thread& t, const char* what) const {
  const Kernel& kernel = *group.kernel;
  const int32_t at = std::max(0, std::min<int32_t>(t.next - 1, static_cast<int32_t>(kernel.code.size()) - 1));
  const Instruction& i = kernel.code[at];
  char place[160];
  snprintf(place, sizeof place, "kernel 0x%llx, instruction at +0x%x, ", static_cast<unsigned long long>(kernel.start), i.pc);
  char thread[120];
  snprintf(thread, sizeof thread, ", group (%u, %u, %u), thread %u of %u", group.id[0], group.id[1], group.id[2], t.index,
           group.threads);
  return std::string(place) + "\"" + kernel.text(i) + "\": " + what + thread;
}

uint64_t Resident::run(Thread& t, uint64_t most) {
  try {
    return t.run(most);
  } catch (const Failure& error) {
    failure = where(t, error.what());
    return 0;
  }
}

void Resident::turn(Translator& memory, std::mt19937_64* random) {
  memory.use(*walk->space);
  group.memory = &memory;
  std::vector<uint32_t> order(threads.size());
  for (uint32_t k = 0; k < order.size(); ++k) order[k] = k;
  if (random) std::shuffle(order.begin(), order.end(), *random);
  const uint64_t changes = group.changes;
  bool waiting = true;
  advanced = false;
  for (const uint32_t k : order) {
    Thread& t = *threads[k];
    if (t.state == State::Done) continue;
    group.counts.instructions += run(t, random ? 1 + (*random)() % (kTurn / 2) : kTurn);
    if (!failure.empty()) return;
    advanced |= t.state == State::Running;  // it has more to do than to look
    waiting &= t.state == State::Waiting || t.state == State::Done;
  }
  advanced |= group.changes != changes;
  if (group.running && waiting && !advanced)
    failure = where(*threads[order[0]], "threads wait at a barrier that others of their group have not reached and cannot");
}

}  // namespace ishmem_emulator::eu
