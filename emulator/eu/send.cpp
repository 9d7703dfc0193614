// Messages, by the unit that they are for.
#include "gateway.hpp"
#include "memory_message.hpp"

namespace ishmem_emulator::eu {
namespace {

// A thread may end with a message to memory.
void and_end(Thread& t, const Instruction& i) {
  i.inner(t, i);
  ++t.group->counts.messages[kEnd];
  end_thread(t);
}

}  // namespace

Execute send_operation(const Instruction& i) {
  if (i.op != Op::Send) return nullptr;
  switch (i.send.unit) {
    case Unit::Gateway: return gateway_message(i);
    case Unit::DataCache: return scratch_message(i);
    case Unit::Slm:
    case Unit::Ugm:
    case Unit::UgmLow: return i.send.end_of_thread ? (i.inner ? and_end : nullptr) : memory_message(i);
  }
  return nullptr;
}

}  // namespace ishmem_emulator::eu
