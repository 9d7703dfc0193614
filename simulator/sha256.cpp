#include "sha256.hpp"

#include <array>
#include <cmath>
#include <cstdint>

namespace simulator {

namespace {

// The first 32 bits of the fractional parts of the cube roots (rounds) and square roots (start) of the first primes.
struct Tables {
  std::array<uint32_t, 64> rounds;
  std::array<uint32_t, 8> start;

  Tables() {
    unsigned found = 0;
    for (unsigned n = 2; found < rounds.size(); ++n) {
      bool prime = true;
      for (unsigned d = 2; d * d <= n; ++d) prime = prime && n % d;
      if (!prime) continue;
      if (found < start.size()) start[found] = fraction(sqrtl(n));
      rounds[found++] = fraction(cbrtl(n));
    }
  }

  static uint32_t fraction(long double root) { return (uint32_t)((root - floorl(root)) * 4294967296.0L); }
};

uint32_t turned(uint32_t x, int by) { return x >> by | x << (32 - by); }

void block(const unsigned char *bytes, std::array<uint32_t, 8> &state, const Tables &tables) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = (uint32_t)bytes[4 * i] << 24 | bytes[4 * i + 1] << 16 | bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
  for (int i = 16; i < 64; ++i)
    w[i] = w[i - 16] + (turned(w[i - 15], 7) ^ turned(w[i - 15], 18) ^ w[i - 15] >> 3) + w[i - 7] +
           (turned(w[i - 2], 17) ^ turned(w[i - 2], 19) ^ w[i - 2] >> 10);
  auto [a, b, c, d, e, f, g, h] = state;
  for (int i = 0; i < 64; ++i) {
    uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + tables.rounds[i] + w[i];
    uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + two;
  }
  const std::array<uint32_t, 8> mixed = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i) state[i] += mixed[i];
}

}  // namespace

std::string sha256(const std::string &text) {
  static const Tables tables;
  std::array<uint32_t, 8> state = tables.start;
  const size_t whole = text.size() / 64 * 64;
  for (size_t at = 0; at < whole; at += 64) block((const unsigned char *)text.data() + at, state, tables);
  std::string rest = text.substr(whole) + '\x80';
  rest.resize(rest.size() > 56 ? 128 : 64);
  const uint64_t bits = (uint64_t)text.size() * 8;
  for (int i = 0; i < 8; ++i) rest[rest.size() - 1 - i] = (char)(bits >> 8 * i);
  for (size_t at = 0; at < rest.size(); at += 64) block((const unsigned char *)rest.data() + at, state, tables);
  std::string digest;
  for (uint32_t word : state)
    for (int shift = 24; shift >= 0; shift -= 8) digest += (char)(word >> shift);
  return digest;
}

std::string hexadecimal(const std::string &bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

}  // namespace simulator
