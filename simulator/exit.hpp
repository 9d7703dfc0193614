// What happens to work that still runs when the process exits.
#pragma once

namespace simulator {

// Every piece of work that a queue takes is counted from its submission to its end.
void workBegins();
void workEnds();

}  // namespace simulator
