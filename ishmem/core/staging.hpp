// Staging: where the host reads device memory slowly, the copy engine copies what is sent from there.
//
// MPI that does not handle Level Zero memory would read a card's heap through the host's mapping, uncached. Instead the
// copy engine copies a long payload in pieces into host memory, from where MPI sends them. There are STAGES buffers, so
// that one piece is copied while another one is on its way. No call blocks: a copy is asked for and looked after in later
// rounds of the engine, because it may have to wait for other copies of the device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>

#include "mpi_table.hpp"

namespace ishmem {

struct Group;

// A piece of a long payload while MPI sends or receives it.
struct Transfer {
    MpiHandle request;
    Group *group;     // of the origin's operation; null at the target
    int other;        // the PE that sends or receives it
    int pe;           // origin of the long put that this piece belongs to; otherwise -1
    uint64_t packet;  // the packet with the record of that put
    int stage = -1;   // the staging buffer that it is sent from; -1: none
};

// Level Zero functions and their arguments.
struct StagingSetup {
    int (*append_copy)(void *list, void *to, const void *from, size_t bytes, void *signal, uint32_t n, void **waits) = nullptr;
    int (*query)(void *event) = nullptr;
    int (*reset)(void *event) = nullptr;
    void *list = nullptr;     // immediate and asynchronous, of a queue that copies while kernels run; null: nothing is staged
    char *buffers = nullptr;  // STAGES times PIECE bytes that the device reaches
    void *events[2] = {};     // one for each buffer
};

class Staging {
 public:
    static constexpr size_t STAGES = 2, PIECE = 1 << 20;

    struct Piece {
        const char *from;  // in the host's mapping of this PE's heap
        int bytes, pe, tag;
        Transfer transfer;
    };

    explicit Staging(const StagingSetup &setup) : setup_(setup) {}

    bool on() const { return setup_.list; }
    bool accepts(const char *from, size_t bytes) const;  // whether memory is to be staged
    void add(const Piece &piece) { pieces_.push_back(piece); }
    void free(int stage) { used_[stage] = false; }
    bool empty() const { return pieces_.empty(); }

    // Starts copies into free buffers. Returns whether there were any.
    bool copy();

    // Takes the oldest piece if it has been copied, and sets the address that it is to be sent from.
    bool take(Piece &piece, const char *&at);

 private:
    char *buffer(size_t stage) const { return setup_.buffers + stage * PIECE; }

    const StagingSetup setup_;
    std::deque<Piece> pieces_;  // in the order of sending; the first `copying_` are being copied
    size_t copying_ = 0, next_ = 0;  // the next buffer to copy into
    bool used_[STAGES] = {};
    bool failed_ = false;  // the device does not copy any more: its loss is reported elsewhere
};

}  // namespace ishmem
