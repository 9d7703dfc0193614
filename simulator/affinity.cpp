#include "affinity.hpp"

#include <cstddef>
#include <cstdint>

#include "imports.hpp"

namespace simulator {

// Replaces sched_setaffinity and pthread_setaffinity_np.
static int pinNothing(uintptr_t, size_t, const void *) { return 0; }

void leaveThreadsUnpinned(void *library) {
  redirectCalls(library, "sched_setaffinity", (void *)pinNothing);
  redirectCalls(library, "pthread_setaffinity_np", (void *)pinNothing);
}

}  // namespace simulator
