// Commands, and the lists that collect them or, when immediate, submit them at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "queue.hpp"

namespace simulator {

// What a command does on the device; false when it failed.
using Work = std::function<bool()>;

struct Command {
  Work work;  // may be empty
  std::vector<Event *> waits;
  Event *signal;
};

struct CommandList {
  std::unique_ptr<Queue> immediate;
  std::shared_ptr<std::vector<Command>> commands;  // shared with submissions that still run
  bool closed = false;
};

void run(const Command &command);

ze_result_t append(CommandList *list, Work work, Event *signal, uint32_t waitCount, Event **waits);

}  // namespace simulator
