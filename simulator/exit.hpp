// Tracks work that is still running when the process exits.
#pragma once

namespace simulator {

// Queues report each submission and each completion.
void workBegins();
void workEnds();

}  // namespace simulator
