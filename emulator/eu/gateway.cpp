// Messages to the gateway: barriers, and the end of a thread.
#include "gateway.hpp"

#include <string>

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kBarrierMessage = 4;

// The third word of the payload: barrier, whether a producer or a consumer arrives, and how many of each there are.
void signal_barrier(Thread& t, const Instruction& i) {
  const uint32_t word = t.word(i.send.address + 8);
  const uint32_t id = word & 0xff, kind = word >> 14 & 3, consumers = word >> 24;
  if (id >= Group::kBarriers) throw Failure("there is no barrier " + std::to_string(id));
  if (kind) throw Failure("barriers whose producers do not wait are not known");
  Group& group = *t.group;
  Barrier& barrier = group.barriers[id];
  t.seen[id] = barrier.generation;
  t.signalled |= 1u << id;
  ++group.counts.messages[kBarrier];
  if (++barrier.arrived < (consumers ? consumers : group.threads)) return;
  barrier.arrived = 0;
  ++barrier.generation;
  ++group.changes;
}

void signal(Thread& t, const Instruction& i) {
  if (enabled(t, i)) signal_barrier(t, i);
}

}  // namespace

void end_thread(Thread& t) {
  t.state = State::Done;
  --t.group->running;
  ++t.group->changes;
}

void end(Thread& t, const Instruction&) {
  ++t.group->counts.messages[kEnd];
  end_thread(t);
}

Execute gateway_message(const Instruction& i) {
  if (i.send.end_of_thread) return end;
  if (i.send.descriptor_register >= 0 || i.send.address < 0) return nullptr;
  return (i.send.descriptor & 7) == kBarrierMessage ? signal : nullptr;
}

}  // namespace ishmem_emulator::eu
