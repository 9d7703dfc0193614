// Data movement of collectives in teams that span nodes.
//
// In two levels, data that all members of a node need from another node cross the network once: the members divide the
// gets among themselves, and each copies what it has fetched to the others, while its next gets are under way. In the flat
// form each member gets all that it needs, at the same time. Data for a single member are always fetched by that member; a root on another node fetches what it gathers.
#include <algorithm>
#include <cstring>

#include "collectives.hpp"

namespace ishmem::TRANSPORT {
namespace {

constexpr size_t PIECE = 64 << 10;  // the least that one member of a node fetches for all
constexpr size_t BATCH = 1 << 20, BATCHES = 16;  // least bytes of the gets that are awaited together; most such batches

struct Piece {
    size_t to;
    const char *from;
    size_t bytes;
};

class Movement {
 public:
    explicit Movement(const Call &call) : call_(call) {
        for (int j = 0; j < call.size(); ++j) {
            if (is_far(heap().mapped[static_cast<size_t>(call.team->pe(j))])) continue;
            if (j == call.me()) turn_ = near_.size();
            near_.push_back(j);
        }
    }

    // Gets into this PE's dest.
    void fetch(size_t to, const char *from, size_t bytes) { good_ = good_ && gets_.start(dest() + to, from, bytes); }

    // Fetches a block that all members need. In two levels, members of this node fetch its pieces in turn, unless the
    // block is on this node.
    void spread(size_t to, const char *from, size_t bytes) {
        if (!is_far(from) || !in_levels(call_.algorithm)) return fetch(to, from, bytes);
        const size_t share = std::max(PIECE, (bytes + near_.size() - 1) / near_.size());
        for (size_t done = 0; done < bytes; done += share, ++pieces_) {
            if (pieces_ % near_.size() != turn_) continue;
            mine_.push_back({to + done, from + done, std::min(share, bytes - done)});
            total_ += mine_.back().bytes;
        }
    }

    bool finish() {
        Gets batches[2];  // one is copied, the next one is under way
        size_t first = 0, next = start(0, batches[0]);
        for (size_t turn = 0; first < mine_.size() && good_; turn = !turn) {
            const size_t end = next;
            next = start(end, batches[!turn]);
            good_ = good_ && batches[turn].await() == Satisfied;
            for (; first < end && good_; ++first) copy_to_others(mine_[first]);
        }
        return await();
    }

    int first() const { return near_.front(); }  // member on this node
    char *dest() const { return call_.dest_of(call_.me()); }
    bool await() { return gets_.await() == Satisfied && good_; }

 private:
    // Starts the gets of a batch; returns its end.
    size_t start(size_t piece, Gets &gets) {
        const size_t least = std::max(BATCH, total_ / BATCHES);
        for (size_t bytes = 0; piece < mine_.size() && bytes < least; bytes += mine_[piece++].bytes)
            good_ = good_ && gets.start(dest() + mine_[piece].to, mine_[piece].from, mine_[piece].bytes);
        return piece;
    }

    void copy_to_others(const Piece &piece) const {
        for (int j : near_)
            if (j != call_.me()) copy_near(call_.dest_of(j) + piece.to, dest() + piece.to, piece.bytes);
    }

    const Call &call_;
    std::vector<int> near_;
    size_t turn_ = 0, pieces_ = 0, total_ = 0;
    std::vector<Piece> mine_;
    Gets gets_;
    bool good_ = true;
};

// With strides up to 4, fetches each block including the gaps between its elements; otherwise fetches single elements.
bool alltoalls(const Call &call, Movement &movement) {
    const size_t item = call.item, me = static_cast<size_t>(call.me()), dst = static_cast<size_t>(call.dst), sst = static_cast<size_t>(call.sst);
    const size_t span = call.count ? ((call.count - 1) * sst + 1) * item : 0;
    const bool whole = sst <= 4;
    std::vector<std::vector<char>> blocks(static_cast<size_t>(call.size()));
    Gets gets;
    bool good = true;
    for (int j = 0; j < call.size() && call.count; ++j) {
        const size_t first = static_cast<size_t>(j) * call.count * dst * item;
        const char *from = call.source_of(j) + me * call.count * sst * item;
        if (whole) {
            blocks[static_cast<size_t>(j)].resize(span);
            good = good && gets.start(blocks[static_cast<size_t>(j)].data(), from, span);
            continue;
        }
        for (size_t i = 0; i < call.count; ++i) movement.fetch(first + i * dst * item, from + i * sst * item, item);
    }
    if (!good || gets.await() != Satisfied || !movement.await()) {
        leak(blocks);
        return false;
    }
    for (size_t j = 0; j < blocks.size(); ++j)
        for (size_t i = 0; i < call.count && whole; ++i)
            std::memcpy(movement.dest() + (j * call.count + i) * dst * item, blocks[j].data() + i * sst * item, item);
    return true;
}

}  // namespace

bool move_spanning(const Call &call) {
    if (call.routine == Broadcast && in_levels(call.algorithm)) return broadcast_between_nodes(call);
    if (call.routine == Alltoall && in_levels(call.algorithm)) return alltoall_between_nodes(call);
    Movement movement(call);
    const int me = call.me(), size = call.size();
    const size_t mine = static_cast<size_t>(me), n = static_cast<size_t>(size), bytes = call.bytes;
    switch (call.routine) {
        case Alltoalls: return alltoalls(call, movement);
        case Broadcast: movement.fetch(0, call.source_of(call.root), bytes); break;
        case Scatter: movement.fetch(0, call.source_of(call.root) + mine * bytes, bytes); break;
        case Gather: case Gatherv:
            for (int j = 0; j < size && me == call.root; ++j) {
                const size_t k = static_cast<size_t>(j);
                if (call.routine == Gather) movement.fetch(k * bytes, call.source_of(j), bytes);
                else movement.fetch(call.dest_places[k] * call.item, call.source_of(j), call.dest_counts[k] * call.item);
            }
            break;
        case Scatterv:
            movement.fetch(0, call.source_of(call.root) + call.source_places[mine] * call.item, call.source_counts[mine] * call.item);
            break;
        default:
            for (int i = 0; i < size; ++i) {
                const int j = (me + i) % size;
                const size_t k = static_cast<size_t>(j);
                if (call.routine == Alltoall) movement.fetch(k * bytes, call.source_of(j) + mine * bytes, bytes);
                if (call.routine != Alltoallv) continue;
                const auto *theirs = reinterpret_cast<const uint64_t *>(call.slot(j));
                movement.fetch(call.dest_places[k] * call.item, call.source_of(j) + theirs[2 * n + mine] * call.item, call.dest_counts[k] * call.item);
            }
            // The same order on all members of a node, because they take turns; each node begins with another one.
            for (int i = 0; i < size; ++i) {
                const int j = (movement.first() + i) % size;
                const size_t k = static_cast<size_t>(j);
                if (call.routine == Fcollect) movement.spread(k * bytes, call.source_of(j), bytes);
                if (call.routine == Collect) movement.spread(call.dest_places[k] * call.item, call.source_of(j), call.header(j)->extra * call.item);
            }
    }
    return movement.finish();
}

}  // namespace ishmem::TRANSPORT
