// The limit on a kernel's run time that ISHMEM_CARD_TIME_LIMIT sets, in seconds.
#pragma once

#include <cstdint>
#include <memory>

#include "context.hpp"

namespace ishmem_emulator {

// Bans the context if the result lives for longer than the limit. Returns null where no limit is set.
std::shared_ptr<void> watch(const std::shared_ptr<Context> &context, uint64_t kernel);

}  // namespace ishmem_emulator
