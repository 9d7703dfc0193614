#include "report.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace ishmem_emulator {

static std::string print(const char *format, va_list arguments) {
  char text[1024];
  vsnprintf(text, sizeof text, format, arguments);
  return text;
}

// One write, so that lines of several processes do not mix.
static void writeLine(const std::string &text) {
  std::string line = "ishmem card [" + std::to_string(getpid()) + "]: " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

std::string formatted(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = print(format, arguments);
  va_end(arguments);
  return text;
}

void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  writeLine(print(format, arguments));
  va_end(arguments);
}

bool traced(Level level) {
  static const int asked = [] {
    const char *value = getenv("ISHMEM_CARD_TRACE");
    return value ? atoi(value) : 0;
  }();
  return asked >= (int)level;
}

void trace(Level level, const char *format, ...) {
  if (!traced(level)) return;
  va_list arguments;
  va_start(arguments, format);
  writeLine(print(format, arguments));
  va_end(arguments);
}

}  // namespace ishmem_emulator
