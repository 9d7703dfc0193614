// Commands and command lists. A regular list collects commands, an immediate list submits each one at once.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "queue.hpp"

namespace simulator {

// The device work of a command; returns false if it failed.
using Work = std::function<bool()>;

struct Command {
  Work work;  // may be empty
  std::vector<std::shared_ptr<Completion>> waits = {};
  std::shared_ptr<Completion> signal = nullptr;  // or null
  bool counts = false;                           // the event is counter-based
};

struct Commands : std::vector<Command> {
  std::atomic<int> runs{0};  // that have been submitted and have not ended
};

struct CommandList {
  std::unique_ptr<Queue> immediate;
  std::shared_ptr<Commands> commands;  // shared with submissions that are still running
  const bool ordered;  // one command after the other
  bool closed = false;
};

void run(const Command &command);

// `overlaps`: on an immediate list, the command may run at the same time as others that may.
ze_result_t append(CommandList *list, Work work, Event *signal, uint32_t waitCount, Event **waits, bool overlaps = false);

// The same for a copy, a fill, and what only waits for events.
ze_result_t appendCopy(CommandList *list, Work work, Event *signal, uint32_t waitCount, Event **waits);

}  // namespace simulator
