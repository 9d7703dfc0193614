// Late delivery (ISHMEM_SIM_ORDER=late): holds what OpenSHMEM lets arrive later, and delivers it late and in another
// order, chosen by a seed. Only fence, quiet, barriers and the order of put_signal are respected. See docs/architecture.md.
//
// A held operation is on a PE of this node, addressed as on another node (far.hpp): so calls of the host find it where
// they look for other nodes, and nothing is asked where the setting is off.
#pragma once
#include <Python.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heap.hpp"

namespace ishmem {

// Copies between a mapped heap and memory of this PE; null: the host does it. Returns 0, or the driver's error.
using Mover = int (*)(char *far, char *local, size_t bytes, bool put);

class Late {
 public:
    enum Kind { Put, Get, Update };
    static constexpr uint64_t ALONE = ~uint64_t{0};

    Late(uint64_t seed, PyObject *where);
    void stop();  // drops what is held; the object stays, as threads may still call it

    // `routine` names the caller for reports. Blocking puts are copied at once.
    void put(char *far, const char *from, size_t bytes, size_t item, const char *routine);
    void put_nbi(char *far, char *from, size_t bytes, PyObject *keep, Mover mover, const char *routine);
    void get_nbi(char *into, char *far, size_t bytes, PyObject *keep, Mover mover, const char *routine);
    void get(char *into, const char *far, size_t bytes, const char *routine);
    // An atomic update; with `after`, the place of a put, it comes after that put.
    void update(char *far, int rmw, size_t item, uint64_t value, const char *routine, uint64_t after = ALONE);
    uint64_t fetch(char *far, int rmw, size_t item, uint64_t value, uint64_t cond);
    // A signal that comes after what this PE has put there since mark().
    void signal(char *far, int rmw, uint64_t value, uint64_t since);
    uint64_t mark();

    void fence();     // what is held arrives before what is held from now on
    void complete();  // delivers everything
    void flush();     // ends the access of non-blocking operations to memory of this PE
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
        uint64_t place, origin;       // `origin`: the place of the whole put, of which this may be a part
        size_t bytes, item;
        std::vector<char> data = {};  // of a put; of a put_nbi as the source was at the call
        char *local = nullptr;        // of nbi operations
        Mover mover = nullptr;
        int rmw = 0;
        uint64_t value = 0;
        uint64_t after = ALONE, since = ALONE;  // of a signal: the place of its data, or the number of the first of them
        std::string where = {};
        uint64_t epoch = 0, number = 0;
        Clock::time_point due = {};
        bool is_overtaken = false;

        bool is_signal() const { return after != ALONE || since != ALONE; }
        bool waits_for(const Held &put) const {
            return put.kind == Put && put.pe == pe && put.number < number && (put.origin == after || put.number >= since);
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
    void note_changed(const Held &put);
    void deliver(List &items);
    void deliver(Held &held);
    void keep_overtaken(const Held &by);
    void note_overtaken(const Held &by);
    std::string words(const Held &held) const;
    std::string where(const char *routine);
    void run();

    std::mutex delivery_;  // held by who delivers; taken before queue_
    std::mutex queue_;     // guards what follows
    std::condition_variable changed_queue_;
    List held_;
    std::vector<std::string> overtaken_, changed_;
    std::vector<PyObject *> kept_;  // guarded by the GIL
    std::vector<uint64_t> last_;        // 1 plus the epoch of the last held operation on each PE
    uint64_t state_, epoch_ = 0, number_ = 0, expired_ = 0;
    bool direct_ = false, stop_ = false;
    PyObject *where_;
    std::thread thread_;
};

inline Late *late = nullptr;

// Whether an address is one of a PE of this node whose operations are held.
inline bool is_held(const void *address) { return late && is_far(address) && !is_far(heap().mapped[static_cast<size_t>(far_pe(address))]); }

void start_late(uint64_t seed, PyObject *where);
void stop_late();

}  // namespace ishmem
