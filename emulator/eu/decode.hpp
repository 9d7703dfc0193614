// Decoding of kernels.
#pragma once

#include <memory>

#include "execution.hpp"
#include "iga.hpp"
#include "instruction.hpp"

namespace ishmem_emulator::eu {

// The kernel at an address, decoded once and again when its bytes have changed. Thread-safe. Throws Failure.
std::shared_ptr<const Kernel> kernel_at(uint64_t start, Space&, int generation);
// A kernel from bytes, which are those from its first instruction on.
std::shared_ptr<const Kernel> decode(const Iga&, int platform, uint64_t start, const char* bytes, size_t size);

}  // namespace ishmem_emulator::eu
