// The barrier of a team, and what it remembers of PEs that have left.
#include "polling.hpp"

namespace ishmem {
namespace {

uint64_t *line(int pe, unsigned team, unsigned round) {
    const Heap &h = heap();
    return reinterpret_cast<uint64_t *>(h.mapped[pe] + h.sync_offset + team * h.sync_bytes + 64 * round);
}

uint64_t *barriers_begun(int pe, unsigned team) {
    const Heap &h = heap();
    return reinterpret_cast<uint64_t *>(h.mapped[pe] + h.barriers_begun_offset) + team;
}

// Whether this barrier cannot end: a PE died, or one of the team left before it took part.
bool hopeless(const Team &team, unsigned handle) {
    Heap &h = heap();
    if (h.lost.load() >= 0) return true;
    if (!h.any_left.load()) return false;
    for (int i = 0; i < team.size; ++i)
        if (h.left[team.pe(i)].load() && __atomic_load_n(barriers_begun(team.pe(i), handle), __ATOMIC_ACQUIRE) < team.sequence)
            return true;
    return false;
}

}  // namespace

// Dissemination: in round k a member tells the one 2^k further on and waits for the one 2^k before it. The lines
// hold a number that only grows, so a fast PE never overtakes a reset.
// Model: tests/models/barrier.pml.
Outcome barrier(unsigned handle, double timeout) {
    if (handle >= MAX_TEAMS || !heap().n_pes) return BadArguments;
    Team &team = heap().teams[handle];
    const uint64_t sequence = ++team.sequence;
    unsigned round = 0;
    for (int distance = 1; distance < team.size; distance *= 2, ++round) {
        const int peer = team.pe((team.me + distance) % team.size);
        __atomic_store_n(line(peer, handle, round), sequence, __ATOMIC_SEQ_CST);
        const uint64_t *mine = line(heap().me, handle, round);
        const auto done = [=] { return __atomic_load_n(mine, __ATOMIC_ACQUIRE) >= sequence; };
        const Outcome outcome = poll(done, [&] { return hopeless(team, handle); }, timeout);
        if (outcome != Satisfied) return outcome;
    }
    return Satisfied;
}

Outcome barrier_all() {
    if (!quiet()) return BadArguments;
    const Outcome outcome = barrier(0, -1);
    return outcome == Satisfied && device_status() ? Failed : outcome;
}

void set_left(int pe) {
    Heap &h = heap();
    if (pe < 0 || pe >= h.n_pes) return;
    h.left[pe] = true;
    h.any_left = true;
}

// Tells the others, who read it once they hear that this PE has left, in which barriers it has taken part.
void publish_barriers_begun() {
    Heap &h = heap();
    for (unsigned handle = 0; handle < MAX_TEAMS; ++handle)
        __atomic_store_n(barriers_begun(h.me, handle), h.teams[handle].sequence, __ATOMIC_RELEASE);
}

}  // namespace ishmem
