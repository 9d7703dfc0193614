// Lines on stderr: messages for users, and the trace that ISHMEM_CARD_TRACE turns on.
#pragma once

#include <cstdarg>
#include <string>

namespace ishmem_emulator {

std::string formatted(const char *format, ...) __attribute__((format(printf, 1, 2)));

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

enum class Level { Calls = 1, Packets = 2 };  // ISHMEM_CARD_TRACE=1: ioctls and submissions; 2: each packet, too

bool traced(Level);
void trace(Level, const char *format, ...) __attribute__((format(printf, 2, 3)));

}  // namespace ishmem_emulator
