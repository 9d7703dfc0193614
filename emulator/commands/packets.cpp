#include "packets.hpp"

#include "../report.hpp"

namespace ishmem_emulator {

// Packets that order, prefetch or configure what has no counterpart here: each command has taken effect when the next is
// executed, and there are no interrupts or power states.
static void nothing(Streamer &, const Packet &) {}

// Types and opcodes of first words, as in the documents: MI_*, the copy engine's, and those of the pipelines.
static constexpr uint32_t mi(uint32_t opcode) { return opcode << 23; }
static constexpr uint32_t blit(uint32_t opcode) { return 2u << 29 | opcode << 22; }
static constexpr uint32_t miMask = 0x3fu << 23 | 7u << 29, blitMask = 0x7fu << 22 | 7u << 29;
static constexpr uint32_t stateMask = 0xffff0000u, computeMask = 0xfffc0000u;
static constexpr uint32_t byte = 0xff;

static const PacketKind kinds[] = {
    {miMask, mi(0x00), "MI_NOOP", AllEngines, 0, nothing},
    {miMask, mi(0x01), "MI_SET_PREDICATE", AllEngines, 0, miSetPredicate},
    {miMask, mi(0x02), "MI_USER_INTERRUPT", AllEngines, 0, nothing},
    {miMask, mi(0x05), "MI_ARB_CHECK", AllEngines, 0, nothing},
    {miMask, mi(0x08), "MI_ARB_ON_OFF", AllEngines, 0, nothing},
    {miMask, mi(0x09), "MI_MEM_FENCE", AllEngines, 0, nothing},
    {miMask, mi(0x0a), "MI_BATCH_BUFFER_END", AllEngines, 0, miBatchBufferEnd},
    {miMask, mi(0x1a), "MI_MATH", AllEngines, byte, miMath},
    {miMask, mi(0x1c), "MI_SEMAPHORE_WAIT", AllEngines, byte, miSemaphoreWait},
    {miMask, mi(0x20), "MI_STORE_DATA_IMM", AllEngines, 0x3ff, miStoreDataImm},
    {miMask, mi(0x22), "MI_LOAD_REGISTER_IMM", AllEngines, byte, miLoadRegisterImm},
    {miMask, mi(0x24), "MI_STORE_REGISTER_MEM", AllEngines, byte, miStoreRegisterMem},
    {miMask, mi(0x26), "MI_FLUSH_DW", AllEngines, 0x3f, miFlushDw},
    {miMask, mi(0x29), "MI_LOAD_REGISTER_MEM", AllEngines, byte, miLoadRegisterMem},
    {miMask, mi(0x2a), "MI_LOAD_REGISTER_REG", AllEngines, byte, miLoadRegisterReg},
    {miMask, mi(0x2e), "MI_COPY_MEM_MEM", AllEngines, byte, miCopyMemMem},
    {miMask, mi(0x2f), "MI_ATOMIC", AllEngines, byte, miAtomic},
    {miMask, mi(0x31), "MI_BATCH_BUFFER_START", AllEngines, byte, miBatchBufferStart},
    {miMask, mi(0x36), "MI_CONDITIONAL_BATCH_BUFFER_END", AllEngines, byte, miConditionalBatchBufferEnd},
    {blitMask, blit(0x41), "XY_BLOCK_COPY_BLT", Copy, byte, xyBlockCopy},
    {blitMask, blit(0x44), "XY_FAST_COLOR_BLT", Copy, byte, xyFastColor},
    {blitMask, blit(0x5a), "MEM_COPY", Copy, byte, memCopy},
    {blitMask, blit(0x5b), "MEM_SET", Copy, byte, memSet},
    {stateMask, 0x61010000, "STATE_BASE_ADDRESS", KernelEngines, byte, stateBaseAddress},
    {stateMask, 0x61020000, "STATE_SIP", KernelEngines, byte, nothing},
    {stateMask, 0x61050000, "STATE_COMPUTE_MODE", KernelEngines, byte, stateComputeMode},
    {stateMask, 0x61090000, "STATE_SYSTEM_MEM_FENCE_ADDRESS", AllEngines, byte, nothing},
    {stateMask, 0x610b0000, "STATE_CONTEXT_DATA_BASE_ADDRESS", KernelEngines, byte, nothing},
    {stateMask, 0x69040000, "PIPELINE_SELECT", KernelEngines, 0, nothing},
    {stateMask, 0x79190000, "3DSTATE_BINDING_TABLE_POOL_ALLOC", KernelEngines, byte, nothing},
    {stateMask, 0x7a000000, "PIPE_CONTROL", KernelEngines, byte, pipeControl},
    {computeMask, 0x72000000, "CFE_STATE", KernelEngines, byte, cfeState},
    {computeMask, 0x72080000, "COMPUTE_WALKER", KernelEngines, byte, computeWalker},
};

const PacketKind *kindOf(uint32_t firstWord) {
  for (const PacketKind &kind : kinds)
    if ((firstWord & kind.mask) == kind.value) return &kind;
  return nullptr;
}

void unsupported(const Packet &packet, const char *what) {
  throw CommandError(formatted("%s is not emulated, first word 0x%08x", what, packet[0]));
}

void postSync(Context &context, const Packet &packet, unsigned operation, uint64_t address, size_t data) {
  switch (operation) {
    case 0: return;
    case 1: return context.store64(address, packet.qword(data));
    case 3: return context.store64(address, timestamp());
  }
  unsupported(packet, "this post-sync operation");
}

}  // namespace ishmem_emulator
