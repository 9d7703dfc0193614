// COMPUTE_WALKER: starts a kernel on the execution units.
#include <cstring>

#include "../cards/card.hpp"
#include "../cards/execution_units.hpp"
#include "../report.hpp"
#include "packets.hpp"
#include "watchdog.hpp"

namespace ishmem_emulator {

namespace {

// Where a generation has the parts of the packet.
struct Layout {
  size_t descriptor, postSync, inlineData, length;
};
const Layout xeHpc{18, 26, 31, 39}, xe2{19, 27, 32, 40};

// What is written when the kernel has ended.
struct PostSync {
  unsigned operation;
  uint64_t address, data;
  bool wideTimestamps;
};

const Card &cardOf(const Context &context) { return *installedCards()[(size_t)context.engine.card]; }

// Shared local memory of a work-group, by the descriptor's code.
uint32_t slmBytes(const Packet &packet, uint32_t code) {
  static const uint32_t kilobytes[] = {0, 1, 2, 4, 8, 16, 32, 64, 24, 48, 96, 128, 192, 256, 384};
  if (code >= sizeof kilobytes / sizeof *kilobytes) unsupported(packet, "this size of shared local memory");
  return kilobytes[code] * 1024;
}

void writePostSync(Context &context, const PostSync &post) {
  enum { None = 0, Immediate = 1, Timestamp = 3 };
  if (post.operation == Immediate) context.store64(post.address, post.data);
  if (post.operation != Timestamp) return;
  // Context start, global start, context end, global end.
  const uint64_t now = timestamp();
  for (uint64_t stamp = 0; stamp < 4; ++stamp)
    if (post.wideTimestamps) context.store64(post.address + 8 * stamp, now);
    else context.store32(post.address + 4 * stamp, (uint32_t)now);
}

void setScratch(Streamer &streamer, Walker &walker) {
  if (!streamer.state.scratch) return;
  const uint64_t surface = streamer.state.surfaceBase + (streamer.state.scratch >> 4);
  walker.scratch_bytes_per_thread = (streamer.context.load32(surface + 12) & 0x3ffff) + 1;
}

Walker decode(Streamer &streamer, const Packet &packet, const Layout &layout) {
  const size_t descriptor = layout.descriptor;
  const State &state = streamer.state;
  Walker walker{};
  walker.general_state_base = state.generalBase;
  walker.kernel_start = state.instructionBase + (packet[descriptor] & ~0x3fu);
  walker.indirect_data_start = packet[3] & ~0x3fu;
  walker.indirect_data_length = packet.bits(2, 0, 16);
  for (unsigned axis = 0; axis < 3; ++axis) {
    walker.groups[axis] = packet[7 + axis];
    walker.group_start[axis] = packet[10 + axis];
    walker.local_size[axis] = packet.bits(6, 10 * axis, 10 * axis + 9) + 1;
  }
  walker.simd = 8u << packet.bits(4, 30, 31);
  walker.generate_local_id = packet.bit(4, 29);
  walker.emit_local_id = packet.bits(4, 26, 28);
  walker.emit_inline = packet.bit(4, 25);
  walker.walk_order = packet.bits(4, 22, 24);
  walker.execution_mask = packet[5];
  walker.threads_per_group = packet.bits(descriptor + 5, 0, 9);
  walker.slm_bytes = slmBytes(packet, packet.bits(descriptor + 5, 16, 20));
  walker.barriers = packet.bits(descriptor + 5, 28, 30);
  walker.large_grf = state.largeGrf;
  memcpy(walker.inline_data, &packet.words[layout.inlineData], (layout.length - layout.inlineData) * 4);
  setScratch(streamer, walker);
  return walker;
}

PostSync decodePostSync(const Packet &packet, size_t word, bool isXe2) {
  PostSync post{packet.bits(word, 0, 1), packet.qword(word + 1), packet.qword(word + 3), isXe2};
  if (post.operation == 2) unsupported(packet, "this post-sync operation");
  return post;
}

// Called by a thread of the execution units.
void finish(Context &context, const PostSync &post, const Ended &ended) {
  try {
    if (!ended.ok) context.ban(ended.why);
    else if (!context.stopped()) writePostSync(context, post);
  } catch (const CommandError &error) {
    context.ban(std::string("COMPUTE_WALKER's post-sync write: ") + error.what());
  }
  context.kernelEnds();
}

}  // namespace

void computeWalker(Streamer &streamer, const Packet &packet) {
  const bool isXe2 = cardOf(streamer.context).isXe2();
  const Layout &layout = isXe2 ? xe2 : xeHpc;
  if (packet.words.size() != layout.length) unsupported(packet, "this length");
  if (packet.bit(0, 10)) unsupported(packet, "indirect parameters");
  const Walker walker = decode(streamer, packet, layout);
  const PostSync post = decodePostSync(packet, layout.postSync, isXe2);
  trace(Level::Calls, "kernel at 0x%llx: %u x %u x %u groups of %u threads, SIMD %u, %u bytes of scratch a thread",
        (unsigned long long)walker.kernel_start, walker.groups[0], walker.groups[1], walker.groups[2],
        walker.threads_per_group, walker.simd, walker.scratch_bytes_per_thread);
  const std::shared_ptr<Context> context = streamer.shared;
  context->kernelStarts();
  const auto use = std::make_shared<AddressSpace::Use>(*context->space);
  const auto watched = watch(context, walker.kernel_start);
  unitsOf(context->engine.card, context->engine.tile)
      .start(walker, *context->space, context->stopped(),
             [context, post, use, watched](const Ended &ended) { finish(*context, post, ended); });
}

}  // namespace ishmem_emulator
