// Length-prefixed messages over a socket.
#pragma once

#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <string>
#include <sys/socket.h>

namespace simulator {

inline bool sendAll(int socket, const char *data, size_t size) {
  while (size) {
    ssize_t sent = send(socket, data, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    data += sent, size -= (size_t)sent;
  }
  return true;
}

inline bool sendMessage(int socket, const std::string &text) {
  uint64_t size = text.size();
  return sendAll(socket, (const char *)&size, sizeof size) && sendAll(socket, text.data(), text.size());
}

// Receives the given number of bytes. Returns false if the connection closes or `left` returns 0.
template <class MillisecondsLeft>
bool receiveAll(int socket, char *data, size_t size, MillisecondsLeft left) {
  while (size) {
    pollfd ready{socket, POLLIN, 0};
    int time = left();
    int count = time == 0 ? 0 : poll(&ready, 1, time);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    ssize_t got = recv(socket, data, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    data += got, size -= (size_t)got;
  }
  return true;
}

template <class MillisecondsLeft>
bool receiveMessage(int socket, std::string &text, MillisecondsLeft left) {
  uint64_t size = 0;
  if (!receiveAll(socket, (char *)&size, sizeof size, left) || size > (uint64_t)1 << 32) return false;
  text.resize(size);
  return receiveAll(socket, &text[0], size, left);
}

}  // namespace simulator
