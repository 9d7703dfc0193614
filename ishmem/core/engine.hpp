// The engine of a PE: operations on PEs of other nodes, as messages to the engines there, over MPI.
//
// Requests. An operation on a far address (far.hpp) becomes a record: put, get, atomic. Records for one PE are packed
// into one open packet, which is sent when it is full or when somebody drives the engine: whoever waits, or the engine's
// thread. The target's engine performs the records on its own mapped memory with the same loads, stores and atomic
// instructions as the hosts of its node, so there is one kind of agent per memory.
//
// Payloads of up to EAGER bytes travel in the packet (eager). Longer ones follow as messages of their own (rendezvous),
// in pieces below 2 GiB, from the origin's memory straight into the target's; the tag tells them apart.
//
// Answers. Values that gets and atomics return are records of packets of answers. Every packet also says up to which
// packet of the receiver's requests all is complete at the sender, long payloads included. `quiet` is: all packets sent,
// all complete. A packet says when its origin waits for that; else it is told with the next packet or every few packets.
//
// Order. Packets between two PEs are performed in the order of sending. A long payload arrives later than its record, so
// the first other record after one is preceded by an Order: the target holds all that comes after it back until the long
// payloads have arrived. So a signal never comes before its data, and what works within a node works between nodes.
//
// Credit. At most WINDOW packets of requests to one PE are not complete, and at most LONGS long payloads are under way;
// then an operation does not start, and its caller drives the engine until there is room. Answers need no credit and
// performing a request never waits, so PEs that all ask each other at once go on serving. Answers are bounded by what
// their receivers have asked for.
//
// MPI is called here only: Isend, Irecv and Test, under one lock, never waiting in it. No call takes the interpreter's
// lock. `drive` is one round of all of this. The thread drives when nobody else does, and sleeps longer and longer while
// nothing happens.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "far.hpp"
#include "packets.hpp"

namespace ishmem {

struct EngineSetup {
    std::string library;  // of mpi4py
    MpiHandle byte = 0, requests = 0, payloads = 0;  // MPI_BYTE, and two communicators
    int any_source = 0;
    size_t piece = 0;     // of long payloads, at most
    int64_t *lock = nullptr;  // that keeps the atomics of hosts on this PE's memory apart, where these are not atomic
};

// Operations that one caller waits for together.
struct Group {
    std::atomic<int> pending{0};
    std::atomic<int64_t> value{0};  // of the last atomic
    bool abandoned = false;         // nobody waits any more: it is deleted with its last operation
};

// Requests that a PE has been sent up to some moment: packet numbers by PE.
using Mark = std::vector<std::pair<int, uint64_t>>;

class Engine {
 public:
    Engine(const EngineSetup &setup, int me, int n_pes);
    ~Engine();

    // The operations: not blocking, false when there is no room at present. What `from` and `into` point to stays valid
    // until the group has nothing pending; a short put has taken its data with it.
    // `quiet` does not wait for a put that is not counted: a flag of a protocol, which its reader waits for anyway.
    bool put(char *far, const char *from, size_t bytes, Group &group, bool counted = true);
    bool get(char *into, const char *far, size_t bytes, Group &group);
    bool atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, Group &group);
    bool update(char *far, int rmw, size_t item, uint64_t value);

    void fence();  // what is put after it arrives after what was put before
    Mark mark();   // all requests so far; asks to be told of their completion
    Mark mark(int pe);
    bool complete(const Mark &mark);
    void abandon(Group *group);

    bool drive();  // one round; whether anything happened
    bool drain();  // true when nothing is left to send
    int problem() const { return problem_.load(); }

    std::atomic<int> waiting{0};   // threads that drive while they wait
    Group background;              // operations that only `quiet` waits for
    std::atomic<bool (*)()> also{nullptr};  // what else the thread does in each round

 private:
    struct Peer {
        // as origin
        Packet *requests = nullptr, *answers = nullptr;  // open
        uint64_t sent = 0, done = 0;    // packets of requests: the last one sent, and the last one known to be complete
        uint64_t asked = 0;             // the last one whose completion the target tells at once
        bool asks = false;              // the next one does
        uint64_t counted = 0;           // the last one with a request that `quiet` waits for
        bool long_before = false;       // a long put was the last thing, and nothing orders yet what comes now
        bool fenced = false;            // also before another long put
        bool listed = false, touched = false;  // in `busy_`, in `touched_`
        // as target
        uint64_t handled = 0;           // the last packet whose records have been performed
        uint64_t told = 0;              // up to where the origin has been told
        uint64_t wanted = 0;            // what it waits to be told
        int arriving = 0;               // long payloads on their way here
        std::deque<std::pair<std::unique_ptr<Packet>, size_t>> deferred;  // packets, and from where on
    };
    struct Slot {  // a request that is answered
        char *into;
        Group *group;
    };
    struct Transfer {  // a piece of a long payload
        MpiHandle request;
        Group *group;     // of the origin's operation, or null
        int pe;           // -1, or whose long put this is the last piece of
        uint64_t packet;  // in which that was
    };

    // engine.cpp: packets and progress
    bool test(MpiHandle &request);
    void check(int code, int pe);
    void post(int index);
    Packet *fresh();
    void send(Packet *packet, int pe);
    void list(int pe);
    bool flush(int pe);
    void flush_all();
    uint64_t complete_from(int pe) const;
    bool receive();
    bool test_sends();
    bool test_transfers();
    bool round();
    void run();

    // requests.cpp: the origin's side
    Packet *open(int pe, size_t payload, bool is_long_put, bool counted = true);
    uint32_t slot_for(char *into, Group &group);
    bool fits(size_t bytes) const;
    void start_pieces(char *at, size_t bytes, int pe, int tag, bool sends, Group *group, int from, uint64_t packet);
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
    char *own(uint64_t place, size_t bytes) const;

    Mpi mpi_{};
    const EngineSetup setup_;
    const int me_;
    std::mutex mutex_;
    std::vector<Peer> peers_;
    std::vector<int> busy_;  // PEs with something to send
    std::vector<int> touched_;  // PEs with requests that are not complete
    std::vector<Slot> slots_;
    std::vector<uint32_t> free_slots_;
    std::vector<std::unique_ptr<Packet>> packets_;
    std::vector<Packet *> free_packets_, sending_;
    std::vector<Transfer> transfers_;
    std::vector<Packet *> receives_;
    size_t next_receive_ = 0;
    uint32_t tags_ = 0;
    int longs_ = 0;
    std::atomic<int> problem_{0};
    std::atomic<bool> stop_{false};
    std::thread thread_;
};

// The engine of this PE, null in a job on one node.
Engine *engine();
void start_engine(const EngineSetup &setup);
void stop_engine();

}  // namespace ishmem
