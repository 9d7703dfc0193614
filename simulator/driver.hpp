// The driver, its devices and contexts, and helpers that all calls use.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "level_zero.h"
#include "settings.hpp"

namespace simulator {

constexpr uint32_t computeGroup = 0;  // ordinal of the queue group with the compute engines

struct Device {
  uint32_t index;
  DeviceKind kind;
  uint64_t memory;                // size in bytes
  std::atomic<uint64_t> used{0};  // bytes allocated
};

struct Driver {
  std::vector<Device *> devices;
};

struct Context {
  Driver *driver;
};

Driver *driver();

// Whether a device may access a peer's memory.
bool canAccess(uint32_t device, uint32_t peer);

// Whether a device reaches other pages than those of a peer's memory.
bool misleads(uint32_t device, uint32_t peer);

// Set when a kernel or copy has failed. Later submissions and waits then return DEVICE_LOST, so it cannot go unnoticed.
extern std::atomic<bool> lost;

// Set, like `lost`, when a kernel has been given up that still runs. Waits then end, and its memory stays mapped.
extern std::atomic<bool> hung;

inline ze_result_t status(bool ready) {
  if (lost.load(std::memory_order_relaxed)) return ZE_RESULT_ERROR_DEVICE_LOST;
  return ready ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

// Counts and traces a call, and checks its arguments. Returns an error if a handle or a pointer among them is null.
using Arguments = std::initializer_list<const void *>;
ze_result_t checkCall(const char *call, Arguments handles, Arguments pointers = {});

// The whole of a call that destroys an object.
template <class T>
ze_result_t destroy(const char *call, T *handle) {
  if (auto error = checkCall(call, {handle})) return error;
  delete handle;
  return ZE_RESULT_SUCCESS;
}

// Returns a list as Level Zero specifies: only the count if the caller passes no buffer, else as many items as fit.
template <class T, class Fill>
ze_result_t answerList(uint32_t available, uint32_t *count, T *list, Fill fill) {
  if (!count) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (*count == 0) list = nullptr;
  if (!list || *count > available) *count = available;
  for (uint32_t i = 0; list && i < *count; ++i) fill(list[i], i);
  return ZE_RESULT_SUCCESS;
}

// Returns a text as Level Zero specifies: its size with the zero at its end, and the text if that fits.
ze_result_t answerString(const std::string &text, size_t *size, char *to);

// The structure of the given type in the pNext chain of `head`, or null.
template <class T>
T *chained(const ze_tagged_t *head, ze_structure_type_t type) {
  for (auto *next = (ze_tagged_t *)head->pNext; next; next = (ze_tagged_t *)next->pNext)
    if (next->stype == type) return static_cast<T *>(next);
  return nullptr;
}

uint64_t nanoseconds();

}  // namespace simulator
