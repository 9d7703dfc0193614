// A rehearsal runs an algorithm of the core as each PE of a job that does not exist. Nothing is sent, copied or awaited;
// what would be is counted. The model of tools/scale/model.py makes times of the counts.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ishmem {

// What is counted for a PE in a phase: messages and bytes between nodes, of these the bytes that it sends from one half of
// the nodes to the other, stores and bytes to and from PEs of its node.
enum Count { MessagesOut, MessagesIn, BytesOut, BytesIn, BytesAcross, NearStores, NearBytes, COUNTS };

class Rehearsal {
 public:
    Rehearsal(size_t n_pes, const char *heaps, size_t heap_bytes, size_t width);

    void begin(int me, size_t place);                        // the PE that acts from now on, and its place on its node
    void put(int pe, size_t bytes);
    void get(int pe, size_t bytes);
    void copy(const char *to, const char *from, size_t bytes);
    void wait() { phase_ += acted_, acted_ = false; }       // a phase ends when the PE waits

    // A *stage* has as many phases on all PEs. `reach` waits for what is sent in the phase `step` of it, counted from 1;
    // `end_stage` waits until all PEs have been through all phases.
    void reach(size_t step) { phase_ = std::max(phase_ + acted_, stage_ + step), acted_ = false; }
    void end_stage(size_t steps) { reach(steps), stage_ = phase_; }

    const std::vector<int64_t> &counts() const { return counts_; }  // by phase, PE and Count

 private:
    struct Packet {
        size_t phase = SIZE_MAX, used = 0;
    };

    void message(int from, int to, size_t bytes);
    void carry(int from, int to, size_t bytes);
    void record(std::vector<Packet> &packets, int pe, bool out, size_t bytes);
    int64_t *of(int pe);
    bool is_peer(const char *address) const;

    const size_t n_pes_;
    const char *const heaps_;  // the heaps of the acting PE's node, one after the other
    const size_t heap_bytes_, width_;
    std::vector<int64_t> counts_;
    std::vector<Packet> requests_, answers_;  // open packets with each PE
    int me_ = 0;
    size_t place_ = 0, phase_ = 0, stage_ = 0;
    bool acted_ = false;
};

}  // namespace ishmem

// The transport of rehearsals: operations are counted.
namespace ishmem::rehearsed {

constexpr bool MOVES_DATA = false;

inline Rehearsal *rehearsal = nullptr;  // the one that is under way

inline void copy_near(char *to, const char *from, size_t bytes) { rehearsal->copy(to, from, bytes); }
inline void store_near(uint64_t *at, uint64_t) { rehearsal->copy(reinterpret_cast<char *>(at), nullptr, sizeof *at); }
inline void begin_wait() { rehearsal->wait(); }
inline void end_stage(int steps) { rehearsal->end_stage(static_cast<size_t>(steps)); }

}  // namespace ishmem::rehearsed
