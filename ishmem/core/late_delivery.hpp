// Late delivery (ISHMEM_SIM_ORDER=late): holds what OpenSHMEM lets arrive later, and delivers it late and in another
// order, chosen by a seed. Only fence, quiet, barriers and the order of put_signal are respected. See docs/architecture.md.
//
// A held operation is on the heap or a static object of another PE. Those of this node have far addresses (far.hpp), too: calls of the host
// ask where they look for other nodes, and nothing is asked where the setting is off. On PEs of this node it is done on
// their memory; for others the engine gets it, in whose order it arrives.
#pragma once
#include <Python.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "operations.hpp"

namespace ishmem {

// Copies between a mapped heap and memory of this PE; null: the host does it. Returns 0, or the driver's error.
using Mover = int (*)(char *far, char *local, size_t bytes, bool put);

class Late {
 public:
    enum Kind { Put, Get, Update };

    Late(uint64_t seed, PyObject *where);
    void stop();  // drops what is held; the object stays, as threads may still call it

    // `where` is the call for reports. Blocking puts are copied at once.
    void put(char *far, const char *from, size_t bytes, size_t item, const std::string &where);
    void put_blocks(char *far, const char *from, size_t bytes, size_t item, const Steps &steps, const std::string &where);
    void put_nbi(char *far, char *from, size_t bytes, PyObject *keep, Mover mover, const std::string &where);
    void get_nbi(char *into, char *far, size_t bytes, PyObject *keep, Mover mover, const std::string &where);
    void update(char *far, int rmw, size_t item, uint64_t value, const std::string &where);
    // A signal that comes after what this PE has put there since mark().
    void signal(char *far, int rmw, size_t item, uint64_t value, uint64_t since, const std::string &where);
    uint64_t mark();

    // Operations with a result act at once, at the address that is returned. `read` notes what they overtake; an atomic
    // that stores comes after what a fence orders before it.
    const char *read(const char *far, size_t bytes, const char *routine);
    char *fetch(char *far, int rmw);

    // Names a routine, and the line of the program that calls it.
    std::string where(const char *routine) const;

    void fence();     // what is held arrives before what is held from now on
    void complete();  // delivers everything; to other nodes, it gives everything to the engine
    void flush();     // local completion of nonblocking operations
    void store_directly() { direct_ = true; }  // from now on a fence completes: a kernel stores past this class
    void reseed(uint64_t seed);

    std::vector<std::string> changed();  // sources that changed under a put_nbi; clears
    std::vector<std::string> notes();    // what overtook what, and what is still held

 private:
    using Clock = std::chrono::steady_clock;
    static constexpr uint64_t LONG = 60000, PATIENCE = 100;  // microseconds; delays get shorter the more have passed

    struct Held {
        Kind kind;
        int pe;
        uint64_t offset;
        size_t bytes, item;           // from the first byte to the last
        std::vector<char> data = {};  // of a put; of a put_nbi as the source was at the call
        char *local = nullptr;        // of nbi operations
        Mover mover = nullptr;
        size_t block = 0, step = 0;   // of the blocks of a put; 0: there is one
        int rmw = 0;
        uint64_t value = 0;
        bool is_signal = false;
        uint64_t since = 0;  // of a signal: the number from which on its data are
        std::string where = {};
        uint64_t epoch = 0, number = 0;
        Clock::time_point due = {};
        bool is_overtaken = false;

        bool waits_for(const Held &put) const {
            return is_signal && put.kind == Put && put.pe == pe && since <= put.number && put.number < number;
        }
    };
    using List = std::list<Held>;

    void hold(Held held);
    void keep(PyObject *object);
    uint64_t random();
    uint64_t longest() const { return LONG * PATIENCE / (PATIENCE + expired_); }
    Clock::duration delay(bool first, bool nbi);
    List take_due(Clock::time_point now);
    List take(int pe, bool also_this);
    void take_and_deliver(int pe, bool also_this);
    std::vector<char> source_of(const Held &put);
    void deliver(List &items);
    void deliver(Held &held);
    void store(const Held &held, char *at, const std::vector<char> &data);
    void send(char *far, const char *from, size_t bytes);
    void load(const Held &held, char *at);
    void update(const Held &held, char *at);
    template <class Done>
    bool advance_until(Done done);
    void note(std::string text);
    void keep_overtaken(const Held &by);
    void note_overtaken(const Held &by);
    std::string words(const Held &held) const;
    void run();

    std::mutex delivery_;  // held by who delivers; taken before queue_
    std::mutex queue_;     // guards what follows
    std::condition_variable changed_queue_;
    List held_;
    std::vector<std::string> overtaken_, changed_;
    std::vector<PyObject *> kept_;  // guarded by the GIL
    std::vector<uint64_t> last_;        // 1 plus the epoch of the last held operation on each PE
    uint64_t state_, epoch_ = 0, number_ = 0, expired_ = 0;
    bool direct_ = false;
    std::atomic<bool> stop_{false};
    PyObject *where_;
    std::thread thread_;
};

inline Late *late = nullptr;

// Whether the host reaches an address, though operations on it may be held.
inline bool host_reaches(const void *address) {
    return !is_far(address) || !is_far(heap().mapped[static_cast<size_t>(far_pe(address))]);
}

void start_late(uint64_t seed, PyObject *where);
void stop_late();

}  // namespace ishmem
