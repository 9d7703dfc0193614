// Control flow by goto and join, jumps and calls.
#include "control.hpp"
#include "operations.hpp"

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kSpins = 8;  // passes of a loop that loads the same and changes nothing

// A thread that only looks at memory again and again lets others run.
void note_backward_branch(Thread& t, int32_t at) {
  const bool same = t.branch_before == at && t.loads == t.loads_before && t.changes_before == t.group->changes;
  t.repeats = same && t.loaded ? t.repeats + 1 : 0;
  t.branch_before = at;
  t.loads_before = t.loads;
  t.changes_before = t.group->changes;
  t.loads = 0;
  t.loaded = false;
  if (t.repeats >= kSpins) t.state = State::Yielding;
}

void jump(Thread& t, int32_t target) {
  if (target < 0) throw Failure("the branch leaves the kernel");
  if (target <= t.next - 1) note_backward_branch(t, t.next - 1);
  t.next = target;
}

uint32_t waiting_at(const Thread& t, int32_t place) {
  uint32_t result = 0;
  for (uint32_t left = t.dispatch & ~t.active; left; left &= left - 1) {
    const int k = __builtin_ctz(left);
    if (t.waiting_at[k] == place) result |= 1u << k;
  }
  return result;
}

void goto_(Thread& t, const Instruction& i) {
  const uint32_t taken = enabled(t, i) << i.channel, others = active_lanes(t, i) << i.channel & ~taken;
  if (i.backward) {
    if (taken) {
      wait_at(t, others, t.next);
      t.active &= ~others;
    }
    return go_to(t, taken ? i.target : t.next);
  }
  wait_at(t, taken, i.target);
  t.active &= ~taken;
  go_to(t, t.active & channels_of(i) ? t.next : i.join);
}

void join(Thread& t, const Instruction& i) {
  join_waiting(t, t.next - 1);
  if (!t.active) go_to(t, i.join);
}

void jump_indexed(Thread& t, const Instruction& i) {
  bool taken = true;
  if (i.predicate != Predicate::None) taken = predicate_lanes(t, i) & 1;
  if (!taken) return;
  if (i.join >= 0) return jump(t, i.join);
  // The distance from this instruction is in a register.
  jump(t, t.group->kernel->index(i.pc + static_cast<int32_t>(t.word(static_cast<int>(i.source[0].offset)))));
}

// The address of an instruction as call keeps it, and ret and ip have it: relative to the kernel's first one.
void call(Thread& t, const Instruction& i) {
  const uint32_t lanes = enabled(t, i);
  if (!lanes) return;
  const auto& code = t.group->kernel->code;
  if (t.next >= static_cast<int32_t>(code.size())) throw Failure("the call is the kernel's last instruction");
  const uint32_t saved[2] = {static_cast<uint32_t>(code[t.next].pc), t.active};
  memcpy(t.registers + i.destination.offset, saved, sizeof saved);
  t.active = i.no_mask ? t.active : lanes << i.channel;
  jump(t, i.join);
}

void ret(Thread& t, const Instruction& i) {
  uint32_t saved[2];
  memcpy(saved, t.registers + i.source[0].offset, sizeof saved);
  const int32_t to = t.group->kernel->index(saved[0]);
  if (to < 0) throw Failure("ret goes to no instruction of the kernel");
  t.active = saved[1];
  t.next = to;
}

void nothing(Thread&, const Instruction&) {}

// Wait for the barriers that this thread has signalled. The instruction is executed again until they are complete.
void wait_for_barriers(Thread& t, const Instruction&) {
  if (t.is_released()) return;
  --t.next;
  --t.group->counts.instructions;
  t.state = State::Waiting;
}

Execute sync(const Instruction& i) {
  switch (static_cast<SyncFunction>(i.function)) {
    case SyncFunction::Nop:
    case SyncFunction::AllRead:
    case SyncFunction::AllWrite:
    case SyncFunction::Flush:
    case SyncFunction::Fence: return nothing;  // instructions are executed one after the other
    case SyncFunction::Barrier: return wait_for_barriers;
    default: return nullptr;
  }
}

}  // namespace

void wait_at(Thread& t, uint32_t channels, int32_t place) {
  for (; channels; channels &= channels - 1) t.waiting_at[__builtin_ctz(channels)] = place;
}

void join_waiting(Thread& t, int32_t place) {
  const uint32_t arrived = waiting_at(t, place);
  t.active |= arrived;
  wait_at(t, arrived, -1);
}

// A join takes those that wait at it by itself.
void go_to(Thread& t, int32_t target) {
  jump(t, target);
  if (t.group->kernel->code[target].op != Op::Join) join_waiting(t, target);
}

Execute control_operation(const Instruction& i) {
  switch (i.op) {
    case Op::Nop: return nothing;
    case Op::Sync: return sync(i);
    case Op::Goto: return goto_;
    case Op::Join: return join;
    case Op::Jmpi: return jump_indexed;
    case Op::Call: return call;
    case Op::Ret: return ret;
    default: return structured_operation(i);
  }
}

}  // namespace ishmem_emulator::eu
