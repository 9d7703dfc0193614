#include "command_list.hpp"

#include <cstring>

#include "faults.hpp"
#include "memory.hpp"

namespace simulator {

void run(const Command &command) {
  for (auto &completion : command.waits) await(completion->set, forever);
  uint64_t start = nanoseconds();
  if (command.work && !lost) {
    DeviceWork accessible;
    slowDown();
    if (!command.work()) lost = true;
  }
  if (command.signal) signal(*command.signal, start, nanoseconds());
}

static void setSignal(Command &command, Event *event) {
  if (!event) return;
  if (event->counterBased) event->completion = std::make_shared<Completion>();
  command.signal = event->completion;
  command.counts = event->counterBased;
}

ze_result_t append(CommandList *list, Work work, Event *signal, uint32_t waitCount, Event **waits, bool overlaps) {
  if (!list) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (waitCount > 0 && !waits) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (list->closed) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < waitCount; ++i)
    if (!waits[i]) return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
  // A counter-based event counts the commands of a list, so they must be in order.
  if (signal && signal->counterBased && !list->ordered) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  if (list->immediate && lost) return ZE_RESULT_ERROR_DEVICE_LOST;
  Command command{std::move(work)};
  for (uint32_t i = 0; i < waitCount; ++i) command.waits.push_back(waits[i]->completion);
  setSignal(command, signal);
  if (!list->immediate) {
    list->commands->push_back(std::move(command));
    return ZE_RESULT_SUCCESS;
  }
  auto first = command.waits;
  list->immediate->submit({[command = std::move(command)] { run(command); }, std::move(first), overlaps});
  return status(true);
}

ze_result_t appendCopy(CommandList *list, Work work, Event *signal, uint32_t waitCount, Event **waits) {
  bool overlaps = list && list->immediate && list->immediate->copiesOverlap();
  return append(list, std::move(work), signal, waitCount, waits, overlaps);
}

ZE_API ze_result_t zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                       const ze_command_list_desc_t *desc, ze_command_list_handle_t *list) {
  if (auto error = checkCall(__func__, {context, device}, {desc, list})) return error;
  bool ordered = desc->flags & ZE_COMMAND_LIST_FLAG_IN_ORDER;
  *list = new CommandList{nullptr, std::make_shared<Commands>(), ordered};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                                const ze_command_queue_desc_t *desc,
                                                ze_command_list_handle_t *list) {
  if (auto error = checkCall(__func__, {context, device}, {desc, list})) return error;
  bool ordered = desc->flags & ZE_COMMAND_QUEUE_FLAG_IN_ORDER;
  *list = new CommandList{std::make_unique<Queue>(device, *desc), nullptr, ordered};
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListDestroy(ze_command_list_handle_t list) { return destroy(__func__, list); }

ZE_API ze_result_t zeCommandListClose(ze_command_list_handle_t list) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (list->immediate) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
  list->closed = true;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListReset(ze_command_list_handle_t list) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (list->immediate) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
  list->commands = std::make_shared<Commands>();
  list->closed = false;
  return ZE_RESULT_SUCCESS;
}

ZE_API ze_result_t zeCommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout) {
  if (auto error = checkCall(__func__, {list})) return error;
  if (!list->immediate) return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
  return status(list->immediate->synchronize(timeout));
}

ZE_API ze_result_t zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t signal,
                                              uint32_t waitCount, ze_event_handle_t *waits) {
  trace(__func__);
  return append(list, nullptr, signal, waitCount, waits);  // whatever does not overlap is a barrier
}

ZE_API ze_result_t zeCommandListAppendSignalEvent(ze_command_list_handle_t list, ze_event_handle_t event) {
  if (auto error = checkCall(__func__, {event})) return error;
  return append(list, nullptr, event, 0, nullptr);
}

ZE_API ze_result_t zeCommandListAppendWaitOnEvents(ze_command_list_handle_t list, uint32_t count,
                                                   ze_event_handle_t *events) {
  if (auto error = checkCall(__func__, {list}, {events})) return error;
  return appendCopy(list, nullptr, nullptr, count, events);
}

ZE_API ze_result_t zeCommandListAppendEventReset(ze_command_list_handle_t list, ze_event_handle_t event) {
  if (auto error = checkCall(__func__, {list, event})) return error;
  if (event->counterBased) return ZE_RESULT_ERROR_INVALID_ARGUMENT;
  auto reset = [completion = event->completion] {
    completion->set = false;
    return true;
  };
  return append(list, reset, nullptr, 0, nullptr);
}

ZE_API ze_result_t zeCommandListAppendQueryKernelTimestamps(ze_command_list_handle_t list, uint32_t count,
                                                            ze_event_handle_t *events, void *to,
                                                            const size_t *offsets, ze_event_handle_t signal,
                                                            uint32_t waitCount, ze_event_handle_t *waits) {
  if (auto error = checkCall(__func__, {list}, {events, to})) return error;
  std::vector<std::pair<std::shared_ptr<Completion>, char *>> places;
  for (uint32_t i = 0; i < count; ++i) {
    size_t offset = offsets ? offsets[i] : i * sizeof(ze_kernel_timestamp_result_t);
    places.emplace_back(events[i]->completion, (char *)to + offset);
  }
  auto write = [places = std::move(places)] {
    for (auto &place : places) {
      ze_kernel_timestamp_data_t times = {place.first->start, place.first->end};
      ze_kernel_timestamp_result_t result = {times, times};
      memcpy(place.second, &result, sizeof result);
    }
    return true;
  };
  return append(list, std::move(write), signal, waitCount, waits);
}

}  // namespace simulator
