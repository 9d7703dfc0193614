// Shared definitions of the collectives: a checked call and the addresses of its members' arrays.
//
// Every PE has a ring of two slots per team. In call s it writes its arguments, and the data of a small message, into
// its slot s % 2, stores the sequence number s last, and waits for the slots of all members. A member that has
// published call s + 1 no longer reads slots of call s. So once all members have published call s + 1, the slots of
// call s are free for call s + 2, and no slot is ever reset. In teams that span nodes, this holds for the members of a
// node, and rendezvous_of_nodes.cpp tells the other nodes what they need to know.
#pragma once
#include <utility>
#include <vector>

#include "combine.hpp"
#include "polling.hpp"
#include "remote.hpp"

namespace ishmem {

// Whether an algorithm moves data within each node and between the nodes.
inline bool in_levels(Algorithm algorithm) { return algorithm == Levels || algorithm == Rounds; }

// Published arguments, one cache line; `sequence` is written last.
struct Header {
    uint64_t sequence;
    uint64_t signature;  // routine, type, algorithm, root, elements; equal on all PEs
    uint64_t extra;      // collect: elements of this PE; forms with strides or counts: their hash, equal on all PEs
    uint64_t dest, source;  // bits 48..63: number of a static object, 0 for the heap; bits 0..47: offset
    char words[24];      // the data when it fits; collect: capacity of dest in elements
};
static_assert(sizeof(Header) == 64);

// What is set for a job. A ring has one line of flags and two slots.
struct Config {
    size_t offset = 0, ring_bytes = 0, slot_bytes = 0;
    std::vector<uint32_t> types;                        // per routine: bit t is set when it accepts Type t
    std::vector<std::vector<std::pair<size_t, int>>> algorithms;  // per routine: (from this many bytes on, algorithm)
    size_t payload() const { return slot_bytes - sizeof(Header); }
};

Config &config();

// The fields of Header::signature.
struct Signature {
    unsigned routine, type, algorithm;
    int root;
    uint64_t count;

    uint64_t pack() const {
        return routine | uint64_t(type) << 5 | uint64_t(algorithm) << 10 | static_cast<uint64_t>(root + 1) << 13 | count << 30;
    }

    static Signature unpack(uint64_t packed) {
        return {static_cast<unsigned>(packed & 31), static_cast<unsigned>(packed >> 5 & 31),
                static_cast<unsigned>(packed >> 10 & 7), static_cast<int>(packed >> 13 & 0x1ffff) - 1, packed >> 30};
    }
};

}  // namespace ishmem

namespace ishmem::TRANSPORT {

// A symmetric array argument of a call.
struct Part {
    View view;
    uint64_t location;  // encoded as in Header
};

struct Call {
    unsigned handle;
    Team *team;
    Routine routine;
    Type type;
    size_t item, count, bytes;  // bytes of an element; elements and bytes of a block
    int root;                   // -1: none
    Algorithm algorithm;
    uint64_t sequence, extra;
    Part dest, source;
    Py_ssize_t dst, sst;
    uint64_t differences;    // in teams that span nodes: how the members' calls differ, bits of Difference
    bool has_slots;          // in such teams: whether the slots of members on other nodes are here
    std::vector<char> sum;   // in such teams: of all members, with Carried::Sum
    std::vector<size_t> dest_counts, dest_places, source_counts, source_places;  // used by the v-forms

    int size() const { return team->size; }
    int me() const { return team->me; }
    const Header *header(int member) const;
    char *slot(int member) const;                // the payload after the header
    char *data(int member) const;                // the data of a small message
    char *meeting(size_t offset) const;          // in teams that span nodes: see rendezvous_of_nodes.cpp
    uint64_t meeting_place(size_t offset) const;  // the same on another node, as in far.hpp
    bool is_like_mine(int member) const;
    char *dest_of(int member) const;
    const char *source_of(int member) const;
    uint64_t *flags(int member) const;           // sequence numbers, indexed by Flag
    uint64_t *payload_bytes(int member) const;   // bytes of the payload, in teams that span nodes
    uint64_t mirror_of(int member, const void *part) const;  // where other nodes hold a part of a member's ring
};

// `PayloadBytes` has two words.
enum Flag { Left, Filled, Combined, PayloadBytes };

// Host address on PE `pe` of an array encoded as in Header.
char *address_of(uint64_t location, int pe);

// `raise` sets a flag of this PE to the call's sequence number; `await` waits until a member's flag has reached it.
void raise(const Call &call, Flag flag);
Outcome await(const Call &call, Flag flag, int member);
Outcome await_slots(const Call &call, const std::vector<int> &members, unsigned rounds_per_drive);

// Runs a call: publishes the slot of this PE, waits for those of the others, and moves the data.
Verdict enter(Call &call);

// The parts of it.
Header *header_at(int pe, unsigned handle, uint64_t sequence);
char *ring(int pe, unsigned handle);
Algorithm choose(const Call &call);
uint64_t signature(const Call &call);
void publish(Call &call, uint64_t asked, const char *data, size_t bytes, size_t before = 0);
Outcome await_all(Call &call);
Outcome leave(const Call &call);

// The algorithms; all members have published their slots.
void move_in_slot(const Call &call);
void reduce_in_slot(const Call &call);
void move_mapped(const Call &call);
void reduce_mapped(const Call &call);
Outcome broadcast_tree(const Call &call);
bool move_by_device(const Call &call);  // false, with a Python exception set, when it has failed
Outcome reduce_tree(const Call &call);

// The same for teams that span nodes, flat or in two levels; false when a PE is lost or the wait is interrupted.
bool move_spanning(const Call &call);
bool broadcast_between_nodes(const Call &call);
bool reduce_between_nodes(const Call &call);
bool alltoall_between_nodes(const Call &call);
bool fits_alltoall(const Call &call);  // whether what arrives for a member has room in its landing
bool reduce_spanning(const Call &call);
bool scan_levels(const Call &call);

// What goes between nodes in the rendezvous of a call: see rendezvous_of_nodes.cpp.
enum class Carried { Nothing, FromRoot, FromAll, Sum, Slots };
Carried carried(const Call &call);
size_t published(const Call &call);  // bytes of data that a member publishes with InSlot

// How the calls of the members of a team differ, as bits.
enum Difference : uint64_t { DifferentCalls = 1, DifferentPlaces = 2 };

// Offsets in a meeting: two passes of lines, a buffer for the sum of each step, and the data of small messages.
constexpr size_t MEETING_LINES = 34, MEETING_BUFFER = EAGER;
constexpr size_t SUMS = 2 * MEETING_LINES * 64, TABLE = SUMS + MEETING_LINES * MEETING_BUFFER;

inline size_t meeting_bytes(size_t n_pes, size_t slot_bytes) { return TABLE + n_pes * slot_bytes; }

// In teams that span nodes, the PEs of each node share mirrors of the rings of all PEs, for the slots of other nodes, and
// two meetings. Returns the size for one team.
inline size_t team_mirror_bytes(size_t n_pes, size_t ring_bytes, size_t slot_bytes) {
    return n_pes * ring_bytes + 2 * meeting_bytes(n_pes, slot_bytes);
}

// The rendezvous of a team that spans nodes; sets what the call has only in such teams.
Outcome meet(Call &call);
Outcome await_line(const Call &call, const uint64_t *line);

}  // namespace ishmem::TRANSPORT
