// The copy engine's packets.
#include <algorithm>
#include <cstring>

#include "packets.hpp"

namespace ishmem_emulator {

namespace {

struct Rectangle {
  uint64_t address;
  uint64_t pitch;
};

// Bytes that lie in both mappings from the addresses on, at most `bytes`.
void copyLine(Context &context, uint64_t to, uint64_t from, uint64_t bytes) {
  while (bytes) {
    uint64_t read, written;
    const char *source = context.at(from, 1, Access::Read, &read);
    char *target = context.at(to, 1, Access::Write, &written);
    const uint64_t part = std::min({bytes, read, written});
    memmove(target, source, part);
    from += part, to += part, bytes -= part;
  }
}

void copy(Context &context, Rectangle to, Rectangle from, uint64_t width, uint64_t height) {
  for (uint64_t line = 0; line < height; ++line)
    copyLine(context, to.address + line * to.pitch, from.address + line * from.pitch, width);
}

// Fills a line with a pattern; a mapping holds whole patterns, as pages do.
void fillLine(Context &context, uint64_t to, const char *pattern, size_t size, uint64_t bytes) {
  while (bytes) {
    uint64_t extent;
    char *target = context.at(to, 1, Access::Write, &extent);
    const uint64_t part = std::min(bytes, extent);
    if (size == 1) memset(target, *pattern, part);
    else
      for (uint64_t at = 0; at < part; at += size) memcpy(target + at, pattern, std::min<uint64_t>(size, part - at));
    to += part, bytes -= part;
  }
}

void fill(Context &context, Rectangle to, const char *pattern, size_t size, uint64_t width, uint64_t height) {
  for (uint64_t line = 0; line < height; ++line)
    fillLine(context, to.address + line * to.pitch, pattern, size, width);
}

// Bytes of a pixel, by XY_*'s code of its depth.
uint64_t pixelBytes(const Packet &packet) {
  static const uint64_t bytes[] = {1, 2, 4, 8, 12, 16};
  const uint32_t depth = packet.bits(0, 19, 21);
  if (depth >= sizeof bytes / sizeof *bytes) unsupported(packet, "this depth of colour");
  return bytes[depth];
}

uint64_t pitchAt(const Packet &packet, size_t word) { return packet.bits(word, 0, 17) + 1; }

}  // namespace

void memCopy(Streamer &streamer, const Packet &packet) {
  enum { Linear = 0, Matrix = 1 };
  const bool matrix = packet.bits(0, 17, 18) == Matrix;
  const bool wide = packet.bit(0, 19);  // the width counts 256 bytes
  const uint64_t width = ((uint64_t)packet.bits(1, 0, matrix ? 17 : 23) + 1) * (wide ? 256 : 1);
  copy(streamer.context, {packet.qword(7), pitchAt(packet, 4)}, {packet.qword(5), pitchAt(packet, 3)}, width,
       matrix ? packet.bits(2, 0, 17) + 1 : 1);
}

void memSet(Streamer &streamer, const Packet &packet) {
  const bool matrix = packet.bits(0, 17, 18) != 0;
  const char value = (char)(packet[6] >> 24);
  fill(streamer.context, {packet.qword(4), pitchAt(packet, 3)}, &value, 1,
       (uint64_t)packet.bits(1, 0, matrix ? 17 : 23) + 1, matrix ? packet.bits(2, 0, 17) + 1 : 1);
}

void xyBlockCopy(Streamer &streamer, const Packet &packet) {
  if (packet.bits(1, 30, 31) || packet.bits(8, 30, 31)) unsupported(packet, "tiled memory");
  const uint64_t bytes = pixelBytes(packet), toPitch = pitchAt(packet, 1), fromPitch = pitchAt(packet, 8);
  const uint32_t left = packet.bits(2, 0, 15), top = packet.bits(2, 16, 31);
  const uint32_t fromLeft = packet.bits(7, 0, 15), fromTop = packet.bits(7, 16, 31);
  const uint32_t width = packet.bits(3, 0, 15) - left, height = packet.bits(3, 16, 31) - top;
  const Rectangle to{packet.qword(4) + top * toPitch + left * bytes, toPitch};
  const Rectangle from{packet.qword(9) + fromTop * fromPitch + fromLeft * bytes, fromPitch};
  copy(streamer.context, to, from, width * bytes, height);
}

void xyFastColor(Streamer &streamer, const Packet &packet) {
  if (packet.bits(1, 30, 31)) unsupported(packet, "tiled memory");
  const uint64_t bytes = pixelBytes(packet), pitch = pitchAt(packet, 1);
  const uint32_t left = packet.bits(2, 0, 15), top = packet.bits(2, 16, 31);
  const uint32_t width = packet.bits(3, 0, 15) - left, height = packet.bits(3, 16, 31) - top;
  fill(streamer.context, {packet.qword(4) + top * pitch + left * bytes, pitch}, (const char *)&packet.words[7], bytes,
       width * bytes, height);
}

}  // namespace ishmem_emulator
