// Branches of structured code: if, else, endif, while, break, cont.
#include "control.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

uint32_t chosen(const Thread& t, const Instruction& i) { return (enabled(t, i) << i.channel) & t.active; }

// Channels wait at a place; when none is left, the thread goes on where others may wait.
void leave(Thread& t, uint32_t channels, int32_t place, int32_t otherwise) {
  wait_at(t, channels, place);
  t.active &= ~channels;
  if (!t.active) go_to(t, otherwise);
}

// Without the mask, the branch decides about channels, too, that the launch has left out, until its endif.
void if_(Thread& t, const Instruction& i) {
  if (i.no_mask) {
    t.active |= channels_of(i) & ~t.dispatch;
    t.dispatch |= channels_of(i);
    ++t.widened;
  }
  leave(t, t.active & channels_of(i) & ~chosen(t, i), i.join, i.join);
}

void else_(Thread& t, const Instruction& i) {
  const uint32_t done = t.active & channels_of(i);
  wait_at(t, done, i.target);
  t.active &= ~done;
  join_waiting(t, t.next);
  if (!t.active) go_to(t, i.join);
}

void endif_(Thread& t, const Instruction& i) {
  join_waiting(t, t.next - 1);
  if (i.no_mask && t.widened && --t.widened == 0) t.active &= t.dispatch = t.launched;
  if (!t.active) go_to(t, i.join);
}

// Channels that left the loop wait behind this instruction.
void while_(Thread& t, const Instruction& i) {
  join_waiting(t, t.next - 1);
  const uint32_t again = chosen(t, i);
  if (!again) return join_waiting(t, t.next);
  wait_at(t, t.active & channels_of(i) & ~again, t.next);
  t.active &= ~channels_of(i) | again;
  go_to(t, i.join);
}

void break_(Thread& t, const Instruction& i) {
  if (i.target < 0) throw Failure("the branch leaves the kernel");
  const bool names_while = t.group->kernel->code[i.target].op == Op::While;
  leave(t, chosen(t, i), i.target + names_while, i.join);
}

void continue_(Thread& t, const Instruction& i) { leave(t, chosen(t, i), i.target, i.join); }

}  // namespace

Execute structured_operation(const Instruction& i) {
  switch (i.op) {
    case Op::If: return if_;
    case Op::Else: return else_;
    case Op::EndIf: return endif_;
    case Op::While: return while_;
    case Op::Break: return break_;
    case Op::Continue: return continue_;
    default: return nullptr;
  }
}

}  // namespace ishmem_emulator::eu
