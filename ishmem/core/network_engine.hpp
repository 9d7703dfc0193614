// The engine of a PE executes operations on PEs of other nodes: it exchanges messages with their engines over MPI.
//
// Requests. An operation on a far address (far.hpp) becomes a record: put, get or atomic. Records for one target are
// packed into one open packet. It is sent when it is full or when a thread drives the engine: a waiting thread or the
// engine's own. The target's engine executes the records on its own mapped memory with the same loads, stores and
// atomic instructions as the host code of its node, so remote and local accesses behave alike.
//
// Payloads. Up to EAGER bytes travel in the packet (eager). Longer payloads are separate messages (rendezvous), in
// pieces below 2 GiB, from the origin's memory directly into the target's; tags distinguish them. MPI gets device
// addresses where it handles Level Zero memory. Elsewhere payloads from a card's heap are staged (staging.hpp); what
// arrives is written through the host's mapping. The two sides agree on the pieces by a field of the record.
//
// Answers. The values that gets and atomics return travel as records in answer packets. Every packet also acknowledges
// requests: it carries the number of the last request packet that is complete at its sender together with all packets
// before it, long payloads included. `quiet` waits until all packets are sent and acknowledged. A packet can ask for an
// acknowledgement, as one with a long put does; otherwise the acknowledgement comes with the next packet or after several
// packets.
//
// Order. The target executes packets of one origin in the order of sending. A long payload arrives later than its
// record, so the origin inserts an Order record before the next record that is not a long put. The target defers
// everything behind the Order until the long payloads have arrived. A signal therefore never arrives before its data.
//
// Credit (back pressure). At most WINDOW request packets to one target are unacknowledged, and at most LONGS pieces
// of long payloads are in flight. Beyond that an operation does not start, and its caller drives the engine until
// there is room. Answers need no credit and executing a request never blocks, so PEs that send requests to each other
// cannot deadlock. The receivers' outstanding requests bound the number of answers.
//
// Progress. In this module only the engine calls MPI: Isend, Irecv and Test, under one lock, without blocking. No
// call takes the GIL. `drive` is one round of progress. The engine's thread drives when no other thread does, and
// sleeps with a growing interval while nothing happens. `drive` also serves what kernels ask for (`also`).
#pragma once
#include <algorithm>
#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "far.hpp"
#include "packets.hpp"
#include "staging.hpp"

namespace ishmem {

struct NetworkEngineSetup {
    std::string library;  // mpi4py's compiled module
    MpiHandle byte = 0, requests = 0, payloads = 0;  // MPI_BYTE, and two communicators
    int any_source = 0;
    size_t piece = 0;     // maximum bytes of a piece of a long payload
    bool device_memory = false;  // whether MPI handles Level Zero memory
    StagingSetup staging = {};   // where it does not
    std::vector<int> sockets = {};  // connections to PEs of other nodes in place of MPI, by PE: see sockets.hpp
};

// Operations that one caller waits for as a whole.
struct Group {
    std::atomic<int> pending{0};
    std::atomic<int64_t> value{0};  // result of the last atomic
    std::atomic<bool> lost{false};  // whether an operation has ended because its PE is lost
    bool abandoned = false;         // no caller waits: the last operation deletes the group
};

// What an engine has sent: packets of requests, those of them that ask for an acknowledgement, and packets of answers, which
// acknowledge; how often it has begun to wait for acknowledgements; and the rounds of progress that this took.
struct Traffic {
    uint64_t requests = 0, asking = 0, answers = 0, round_trips = 0, rounds = 0;
};

// The requests sent up to some point in time: the last packet number for each target PE.
using Mark = std::vector<std::pair<int, uint64_t>>;

class NetworkEngine {
 public:
    NetworkEngine(const NetworkEngineSetup &setup, int me, int n_pes);
    ~NetworkEngine();

    // The operations do not block; they return false when there is no room or credit at present. The memory at `from`
    // and `into` must stay valid until the group has nothing pending; an eager put has copied its data on return.
    // `quiet` does not wait for a put with `counted` false, such as a protocol flag that its reader waits for anyway.
    bool put(char *far, const char *from, size_t bytes, Group &group, bool counted = true);
    bool get(char *into, const char *far, size_t bytes, Group &group);
    bool atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, Group &group);
    bool update(char *far, int rmw, size_t item, uint64_t value);

    void fence();  // orders puts before it before puts after it
    Mark mark();   // all requests so far; requests their acknowledgement
    Mark mark(int pe);
    bool complete(const Mark &mark);
    bool is_quiet(const Mark &mark) { return complete(mark) && background.pending == 0; }
    void abandon(Group *group);
    void forget(int pe);  // ends all operations on a lost PE, in a job that goes on

    bool drive();    // one round of progress; returns whether anything happened
    bool advance();  // the same without `also`
    bool drain();  // true when nothing is left to send
    int problem() const { return problem_.load(); }
    bool moves() const { return moves_.load(std::memory_order_relaxed); }  // whether long payloads are in flight

    // Whether a payload of this size goes by its device address. The callers count those of memory outside the heap.
    bool is_direct(size_t bytes) const { return setup_.device_memory && bytes > EAGER; }
    Traffic traffic();
    uint64_t staged() const { return staged_.load(std::memory_order_relaxed); }
    void count_direct(size_t more = 1) { direct_.fetch_add(more, std::memory_order_relaxed); }
    uint64_t direct() const { return direct_.load(std::memory_order_relaxed); }

    static size_t peer_bytes() { return sizeof(Peer); }  // what is kept for each PE of the job

    Group background;              // operations that only `quiet` waits for
    std::atomic<bool (*)()> also{nullptr};  // further work of each `drive`, or null

 private:
    struct Peer {
        // as origin
        Packet *requests = nullptr, *answers = nullptr;  // open
        uint64_t sent = 0, done = 0;    // request packets: the last one sent, the last one acknowledged
        uint64_t asked = 0;             // the last one that asks for an acknowledgement at once
        bool is_awaited() const { return asked > done; }
        bool asks = false;              // whether the next one is to ask
        uint64_t counted = 0;           // the last one that `quiet` waits for
        bool long_before = false;       // a long put was the last record, without an Order after it
        bool fenced = false;            // an Order is needed before another long put, too
        bool listed = false, touched = false;  // whether in `busy_`, in `touched_`
        bool lost = false;              // `forget` has ended all operations on it
        // as target
        uint64_t handled = 0;           // the last packet with all records executed
        uint64_t told = 0;              // the last packet acknowledged to the origin
        uint64_t wanted = 0;            // the last packet that asks for an acknowledgement
        int arriving = 0;               // pieces of long payloads in flight to this PE
        std::list<std::pair<std::unique_ptr<Packet>, size_t>> deferred;  // packets and the offsets to continue at
    };
    struct Slot {  // a request that expects an answer
        char *into;
        Group *group;  // null: the slot is free
        int pe;
    };
    struct Payload {  // a long one
        char *at;
        size_t bytes;
        int pe, tag;
        bool short_pieces;
    };

    // network_engine.cpp: packets, credit and progress
    bool test(MpiHandle &request);
    void check(int code, int pe);
    void post(int index);
    Packet *fresh();
    void send(Packet *packet, int pe);
    void list(int pe);
    bool flush(int pe);
    void flush_all();
    void count_request(const Peer &peer);
    uint64_t complete_from(int pe) const;
    bool receive();
    bool test_sends();
    bool test_transfers();
    bool stage();
    bool round();
    void run();

    // network_operations.cpp: the origin's side
    Packet *open(int pe, size_t payload, bool is_long_put, bool counted = true);
    uint32_t slot_for(char *into, Group &group, int pe);
    void free_slot(uint32_t slot);
    bool is_lost(int pe, Group *group = nullptr);
    size_t piece_of(bool short_pieces) const { return short_pieces ? std::min(Staging::PIECE, setup_.piece) : setup_.piece; }
    bool fits(size_t bytes, bool short_pieces) const;
    char *address_for_mpi(char *at);
    void start_pieces(Payload payload, bool sends, Group *group, int from, uint64_t packet);
    int new_tag(bool get);
    void end_one(Group *group);
    Mark mark_of(const std::vector<int> &pes);

    // serving.cpp: the target's side
    void take(const Packet &packet);
    void take_answers(const Packet &packet);
    size_t serve(int pe, const Packet &packet, size_t from);
    void serve_deferred(int pe);
    void perform(int pe, const Record &record, const char *payload, uint64_t packet);
    void perform_atomic(int pe, const Record &record, const char *payload);
    void reply(int pe, uint32_t slot, const void *payload, size_t bytes);
    char *own(uint64_t offset, size_t bytes) const;

    Mpi mpi_{};
    const NetworkEngineSetup setup_;
    const int me_;
    std::mutex mutex_;
    std::vector<Peer> peers_;
    std::vector<int> busy_;  // PEs with something to be sent to
    std::vector<int> touched_;  // PEs with unacknowledged requests
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_slots_;
    std::vector<std::unique_ptr<Packet>> packets_;
    std::vector<Packet *> free_packets_, sending_;
    std::vector<Transfer> transfers_;
    Staging staging_;
    std::vector<Packet *> receives_;
    size_t next_receive_ = 0;
    uint32_t tags_ = 0;
    int longs_ = 0;
    Traffic traffic_;
    int awaited_ = 0;  // PEs whose acknowledgement has been asked for
    std::atomic<int> problem_{0};
    std::atomic<bool> moves_{false};
    std::atomic<uint64_t> direct_{0}, staged_{0};  // long payloads by device address, and staged
    std::atomic<uint64_t> rounds_{0};  // rounds of progress, by any thread
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// The engine of this PE; null in a job on one node.
NetworkEngine *network_engine();
void start_engine(const NetworkEngineSetup &setup);
void stop_engine();

}  // namespace ishmem
