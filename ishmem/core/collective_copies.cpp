// Data movement of collectives: from the members' slots, or directly between the members' arrays.
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <cstring>

#include "collectives.hpp"

namespace ishmem::TRANSPORT {
namespace {

constexpr size_t PIECE = 64 << 10;   // bytes per copy of a block that may be copied backwards
constexpr size_t STREAM = 32 << 20;  // destinations of this many bytes do not stay in a cache until they are read

// Copies with non-temporal stores, which do not fetch the cache lines they overwrite.
void stream(char *to, const char *from, size_t bytes) {
#ifdef __SSE2__
    const size_t head = std::min(-reinterpret_cast<uintptr_t>(to) % 64, bytes), whole = (bytes - head) / 64 * 64;
    std::memcpy(to, from, head);
    for (size_t at = head; at < head + whole; at += 16)
        _mm_stream_si128(reinterpret_cast<__m128i *>(to + at), _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + at)));
    std::memcpy(to + head + whole, from + head + whole, bytes - head - whole);
    _mm_sfence();  // the release store of a flag does not order non-temporal stores
#else
    std::memcpy(to, from, bytes);
#endif
}

void move(char *to, const char *from, size_t bytes, bool past_caches) {
    MOVES_DATA && past_caches && to != from ? stream(to, from, bytes) : copy_near(to, from, bytes);
}

// Copies a block in pieces, forwards from its start or backwards from its end.
void copy_pieces(char *to, const char *from, size_t bytes, bool backwards, bool past_caches) {
    for (size_t done = 0, piece; done < bytes; done += piece) {
        piece = std::min(PIECE, bytes - done);
        const size_t at = backwards ? bytes - done - piece : done;
        move(to + at, from + at, piece, past_caches);
    }
}

// Byte offset of block `index`.
size_t block(const Call &call, int index) { return static_cast<size_t>(index) * call.bytes; }

void broadcast_mapped(const Call &call) {
    constexpr size_t UNIT = 64, PIECE = 16 << 10;
    const size_t parts = static_cast<size_t>(call.size()), me = static_cast<size_t>(call.me());
    const size_t share = (call.bytes / parts + UNIT - 1) / UNIT * UNIT;
    const size_t from = std::min(me * share, call.bytes), to = me + 1 == parts ? call.bytes : std::min(from + share, call.bytes);
    const char *source = call.source_of(call.root);
    for (size_t at = from; at < to; at += PIECE) {
        const size_t bytes = std::min(PIECE, to - at);
        for (int j = 0; j < call.size(); ++j) move(call.dest_of(j) + at, source + at, bytes, call.bytes >= STREAM);
    }
}

void alltoalls_mapped(const Call &call) {
    const auto item = static_cast<Py_ssize_t>(call.item);
    const Steps steps{call.dst * item, call.sst * item, call.count};
    char *mine = call.dest_of(call.me());
    const size_t to = call.bytes * static_cast<size_t>(call.dst), from = call.bytes * static_cast<size_t>(call.sst);
    for (int j = 0; j < call.size(); ++j)
        move_row(mine + static_cast<size_t>(j) * to, call.source_of(j) + static_cast<size_t>(call.me()) * from, steps, call.item, call.item);
}

void alltoallv_mapped(const Call &call) {
    const size_t n = static_cast<size_t>(call.size()), me = static_cast<size_t>(call.me());
    for (size_t j = 0; j < n; ++j) {
        const auto *theirs = reinterpret_cast<const uint64_t *>(call.slot(static_cast<int>(j)));
        copy_near(call.dest_of(call.me()) + call.dest_places[j] * call.item,
             call.source_of(static_cast<int>(j)) + theirs[2 * n + me] * call.item, call.dest_counts[j] * call.item);
    }
}

}  // namespace

void move_in_slot(const Call &call) {
    const int me = call.me(), size = call.size();
    char *mine = call.dest_of(me);
    switch (call.routine) {
        case Broadcast:
            copy_near(mine, me == call.root ? call.source_of(me) : call.data(call.root), call.bytes);
            break;
        case Scatter:
            copy_near(mine, (me == call.root ? call.source_of(me) : call.data(call.root)) + block(call, me), call.bytes);
            break;
        case Gather:
            if (me != call.root) break;
            [[fallthrough]];
        case Fcollect:
            for (int j = 0; j < size; ++j) copy_near(mine + block(call, j), j == me ? call.source_of(j) : call.data(j), call.bytes);
            break;
        case Collect:
            for (int j = 0; j < size; ++j)
                copy_near(mine + call.dest_places[static_cast<size_t>(j)] * call.item, call.slot(j), call.header(j)->extra * call.item);
            break;
        default:  // Alltoall
            for (int j = 0; j < size; ++j)
                copy_near(mine + block(call, j), (j == me ? call.source_of(j) : call.data(j)) + block(call, me), call.bytes);
    }
}

void move_mapped(const Call &call) {
    const int me = call.me(), size = call.size();
    const size_t mine = static_cast<size_t>(me);
    char *dest = call.dest_of(me);
    switch (call.routine) {
        case Broadcast: return broadcast_mapped(call);
        case Alltoalls: return alltoalls_mapped(call);
        case Alltoallv: return alltoallv_mapped(call);
        case Scatter: return copy_near(dest, call.source_of(call.root) + block(call, me), call.bytes);
        case Gather: return copy_near(call.dest_of(call.root) + block(call, me), call.source_of(me), call.bytes);
        case Gatherv:
            return copy_near(call.dest_of(call.root) + call.dest_places[mine] * call.item, call.source_of(me), call.dest_counts[mine] * call.item);
        case Scatterv:
            return copy_near(dest, call.source_of(call.root) + call.source_places[mine] * call.item, call.source_counts[mine] * call.item);
        default: break;
    }
    // Every second call copies backwards: with reused arrays the part that the previous call copied last is still
    // cached.
    const bool backwards = call.sequence % 2, past_caches = call.bytes * static_cast<size_t>(size) >= STREAM;
    for (int i = 0; i < size; ++i) {
        const int j = (me + (backwards ? size - 1 - i : i)) % size;  // spreads the members' reads over all sources
        if (call.routine == Fcollect) copy_pieces(dest + block(call, j), call.source_of(j), call.bytes, backwards, past_caches);
        else if (call.routine == Alltoall)
            copy_pieces(dest + block(call, j), call.source_of(j) + block(call, me), call.bytes, backwards, past_caches);
        else copy_near(dest + call.dest_places[static_cast<size_t>(j)] * call.item, call.source_of(j), call.header(j)->extra * call.item);
    }
}

// Binomial tree: each member copies from its parent's dest after the parent is filled. The tree's root is the root of a
// broadcast, or member 0 of a reduction.
// Model: tests/models/host_ring.pml.
Outcome broadcast_tree(const Call &call) {
    const int size = call.size(), root = std::max(call.root, 0), place = (call.me() - root + size) % size;
    const char *from;
    if (place) {
        const int parent = (place & (place - 1)), member = (parent + root) % size;
        const Outcome outcome = await(call, Filled, member);
        if (outcome != Satisfied) return outcome;
        from = call.dest_of(member);
    } else {
        from = call.routine == Broadcast ? call.source_of(call.me()) : call.dest_of(call.me());
    }
    copy_near(call.dest_of(call.me()), from, call.bytes);
    raise(call, Filled);
    return Satisfied;
}

}  // namespace ishmem::TRANSPORT
