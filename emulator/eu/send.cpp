// send: which function executes a message, by the unit that receives it.
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

// The message, and the end of the thread where it asks for that.
Execute with_end(Instruction& i, Execute message) {
  if (!i.send.end_of_thread || !message) return message;
  i.inner = message;
  return and_end;
}

}  // namespace

Execute send_operation(Instruction& i) {
  switch (i.send.unit) {
    case Unit::Gateway: return gateway_message(i);
    case Unit::DataCache: return scratch_message(i);
    case Unit::Slm:
    case Unit::Ugm:
    case Unit::UgmLow: return with_end(i, memory_message(i));
  }
  return nullptr;
}

}  // namespace ishmem_emulator::eu
