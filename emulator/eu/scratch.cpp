// Messages of Xe-HPC to a thread's scratch space: blocks of registers that the compiler spills and fills.
#include "memory_message.hpp"

namespace ishmem_emulator::eu {
namespace {

constexpr uint32_t kScratch = 1u << 18, kWrite = 1u << 17;
constexpr uint32_t kHalfRegister = 32;  // bytes; offsets and sizes are in these

uint32_t block_bytes(uint32_t descriptor) { return kHalfRegister << (descriptor >> 12 & 3); }

template <bool Write>
void scratch_block(Thread& t, const Instruction& i) {
  if (!enabled(t, i)) return;
  const uint64_t offset = uint64_t(kHalfRegister) * (i.send.descriptor & 0xfff);
  const uint32_t bytes = block_bytes(i.send.descriptor);
  const Target target{Target::Scratch, 0};
  char* place = target.find(t, offset, bytes, Write ? Access::Write : Access::Read);
  ++t.group->counts.messages[Write ? kScratchStore : kScratchLoad];
  if (Write) memcpy(place, t.registers + i.send.data, bytes);
  else memcpy(t.registers + i.send.destination, place, bytes);
}

}  // namespace

Execute scratch_message(const Instruction& i) {
  const SendInfo& send = i.send;
  if (send.descriptor_register >= 0 || !(send.descriptor & kScratch) || send.end_of_thread) return nullptr;
  if (send.descriptor & kWrite) return send.data < 0 ? nullptr : scratch_block<true>;
  return send.destination < 0 ? nullptr : scratch_block<false>;
}

}  // namespace ishmem_emulator::eu
