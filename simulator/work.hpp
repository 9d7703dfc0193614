// Work that has been submitted to a queue and has not completed.
#pragma once

#include <cstdint>
#include <functional>

namespace simulator {

// Queues report each submission and each completion. Submissions are numbered.
uint64_t workBegins();
void workEnds(uint64_t number);

// Runs an action once all work has completed that has been submitted so far: at once if there is none.
void afterWork(std::function<void()> action);

}  // namespace simulator
