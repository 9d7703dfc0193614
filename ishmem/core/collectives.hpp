// What the parts of the collectives share: a call whose arguments are right, and where its members' arrays are.
//
// Every PE has a ring of two slots per team. It writes what it asks for, and, of a small message, the data too, into
// its own slot, with the number of the call last, and waits for the slots of all members. A member that has
// published call s + 1 has finished with everything of call s; so once call s + 1 has begun everywhere, the slot of
// call s can serve call s + 2, and nothing is ever reset.
#pragma once
#include <vector>

#include "polling.hpp"
#include "remote.hpp"

namespace ishmem {

enum Routine {
    Broadcast, Fcollect, Collect, Alltoall, Alltoalls, Alltoallv, Gather, Scatter, Gatherv, Scatterv,
    AndReduce, OrReduce, XorReduce, MaxReduce, MinReduce, SumReduce, ProdReduce, SumInscan, SumExscan, ROUTINES
};

enum Algorithm { InSlot, Mapped, Tree, ByEngine, ByKernel, Refusal = 7 };

// How a collective call ended: `NotPlain` before anything was published, `Entered` when Python is to move the data.
enum Verdict { Finished, NotPlain, Entered, Dissent, TooShort, PeerGone };

// One cache line; `sequence` is written last.
struct Header {
    uint64_t sequence;
    uint64_t signature;  // routine, type, algorithm, root, elements; equal on all PEs
    uint64_t extra;      // collect: elements of this PE; with strides or counts: their hash, equal on all PEs
    uint64_t dest, source;  // number of a static object, 0 for the heap, and the offset in 48 bits
    char words[24];      // the data, when they fit; collect: elements that fit into dest
};
static_assert(sizeof(Header) == 64);

// A symmetric array as this call uses it.
struct Part {
    View view;
    uint64_t place;  // as in Header
};

struct Call {
    unsigned handle;
    Team *team;
    Routine routine;
    Type type;
    size_t item, count, bytes;  // of an element; elements and bytes of a block
    int root;                   // -1: none
    Algorithm algorithm;
    uint64_t sequence, extra;
    Part dest, source;
    Py_ssize_t dst, sst;
    std::vector<size_t> dest_counts, dest_places, source_counts, source_places;  // of the forms with counts

    int size() const { return team->size; }
    int me() const { return team->me; }
    const Header *header(int member) const;
    char *slot(int member) const;                // what follows the header
    const char *data(int member) const;          // of a small message
    char *dest_of(int member) const;
    const char *source_of(int member) const;
    uint64_t *flags(int member) const;           // numbers of calls: left, filled, combined
};

enum Flag { Left, Filled, Combined };

// Host address on a PE of a place as in Header.
char *address_of(uint64_t place, int pe);

// Raises a flag of this PE to this call, and waits for that of a member; false when it will not come.
void raise(const Call &call, Flag flag);
Outcome await(const Call &call, Flag flag, int member);

// Elementwise dest = first op second for `count` elements; null when the type has no such operation.
using Combine = void (*)(char *dest, const char *first, const char *second, size_t count);
Combine combine_of(Routine routine, Type type);

// The algorithms; the slots of all members have been seen.
void move_in_slot(const Call &call);
void reduce_in_slot(const Call &call);
void move_mapped(const Call &call);
void reduce_mapped(const Call &call);
Outcome broadcast_tree(const Call &call);
Outcome reduce_tree(const Call &call);

// The same for teams that span nodes; false when a PE is lost, or the wait was interrupted.
bool move_spanning(const Call &call);
bool reduce_spanning(const Call &call);

}  // namespace ishmem
