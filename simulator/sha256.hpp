// SHA-256 (FIPS 180-4), for the names and checksums of cached files. Written here, since the driver is loaded into
// processes without Python, and a wheel that needs a system's OpenSSL for one function would not load everywhere.
#pragma once

#include <string>

namespace simulator {

// The 32 bytes of the digest.
std::string sha256(const std::string &text);

std::string hexadecimal(const std::string &bytes);

}  // namespace simulator
