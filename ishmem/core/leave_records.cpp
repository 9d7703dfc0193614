// What PEs publish when they leave, and while they wait for long: which barriers and collectives they have begun.
#include "operations.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

// A departure record: barriers begun per team, a Departure, collectives begun per team.
constexpr size_t WORDS = 2 * MAX_TEAMS + 1;
enum Departure : uint64_t { LeftWell = 1, LeftLost };

uint64_t *departure_of(int pe) { return reinterpret_cast<uint64_t *>(heap().regions.departures) + static_cast<size_t>(pe) * WORDS; }

}  // namespace

uint64_t *barriers_begun(int pe, unsigned team) {
    const Heap &h = heap();
    uint64_t *near = reinterpret_cast<uint64_t *>(h.mapped[pe] + h.parts.barriers_begun);
    return (is_far(h.mapped[pe]) ? departure_of(pe) : near) + team;
}

void set_left(int pe) {
    Heap &h = heap();
    if (pe < 0 || pe >= h.n_pes) return;
    h.status.left[pe] = true;
    h.status.any_left = true;
}

// Publishes which barriers this PE has entered. PEs on this node read the record once the hub has
// reported that this PE has left; PEs on other nodes receive it here.
void publish_barriers_begun(bool lost) {
    Heap &h = heap();
    uint64_t words[WORDS];
    for (unsigned handle = 0; handle < MAX_TEAMS; ++handle) {
        words[handle] = h.teams[handle].sequence;
        words[MAX_TEAMS + 1 + handle] = h.teams[handle].collectives;
        __atomic_store_n(barriers_begun(h.me, handle), words[handle], __ATOMIC_RELEASE);
    }
    words[MAX_TEAMS] = lost ? LeftLost : LeftWell;
    const uint64_t offset = DEPARTURES_AT + static_cast<uint64_t>(h.me) * sizeof words;
    for (int pe = 0; pe < h.n_pes; ++pe)
        if (is_far(h.mapped[pe])) remote_put_uncounted(far_address(pe, offset), words, sizeof words);
    PyErr_Clear();  // a failed put to a lost PE is not an error here
}

// Publishes for PEs that wait for long in which calls this PE is: a `Begun` of ishmem/common/layout.py.
void publish_begun(bool alone) {
    Heap &h = heap();
    uint64_t *at = reinterpret_cast<uint64_t *>(h.mapped[h.me] + h.parts.begun);
    const auto store = [](uint64_t *word, uint64_t value) { __atomic_store_n(word, value, __ATOMIC_SEQ_CST); };
    static uint64_t version = 0;
    store(at, ++version);
    store(at + 1, alone);
    for (unsigned handle = 0; handle < MAX_TEAMS; ++handle)
        store(at + 2 + handle, h.teams[handle].sequence << 32 | (h.teams[handle].collectives & 0xffffffff));
    store(at, ++version);
}

size_t departure_bytes(size_t n_pes) { return n_pes * WORDS * sizeof(uint64_t); }

uint64_t collectives_begun(int pe, unsigned team) { return departure_of(pe)[MAX_TEAMS + 1 + team]; }

void note_departure(int pe) {
    Heap &h = heap();
    if (departure_of(pe)[MAX_TEAMS] == LeftWell) set_left(pe);
    else if (!h.status.survives_losses) h.status.lost = pe;  // else the hub reports it
}

}  // namespace ishmem
