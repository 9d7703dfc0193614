// Polling of this PE's own heap. Failed polls yield the processor: with more PEs than cores that is what lets the
// awaited PE run. With fewer, only every hundredth does, as what is awaited may come during a yield.
#pragma once
#include <sched.h>
#include <unistd.h>

#include <chrono>

#include "engine.hpp"
#include "operations.hpp"

namespace ishmem {

using Clock = std::chrono::steady_clock;

constexpr int FIRST_ROUNDS = 8;  // with the interpreter's lock: to give it away and take it costs as much as a few

constexpr unsigned SPINS = 100, NAP = 20;  // rounds in vain after which a wait between nodes sleeps, and microseconds

// While it lives the engine's thread leaves driving to this one.
class Driving {
 public:
    Driving() : engine_(engine()) {
        if (engine_) ++engine_->waiting;
    }
    ~Driving() {
        if (engine_) --engine_->waiting;
    }

 private:
    Engine *engine_;
};

template <class T>
bool compare(T seen, int how, T wanted) {
    switch (how) {
        case EQ: return seen == wanted;
        case NE: return seen != wanted;
        case GT: return seen > wanted;
        case GE: return seen >= wanted;
        case LT: return seen < wanted;
        default: return seen <= wanted;
    }
}

// Tells Python that a wait is a long one, slice by slice, and that it is over: see ishmem/runtime/long_waits.py.
class Story {
 public:
    ~Story() {
        if (told) tell_wait(false);
    }
    bool goes_on() { return told = true, tell_wait(true); }

 private:
    bool told = false;
};

// Polls in slices of some milliseconds without the interpreter's lock, and lets signals in between. ``looks`` is 1 where
// a look takes long by itself.
template <class Done, class Hopeless>
Outcome poll(Done done, Hopeless hopeless, double timeout, int looks = heap().looks) {
    Engine *const between_nodes = engine();
    unsigned idle = 0;
    const auto seen = [&] {
        for (int look = 0; look < looks; ++look)
            if (done()) return true;
        if (!between_nodes) return false;
        idle = between_nodes->drive() ? 0 : idle + 1;
        return done();
    };
    const Driving driving;
    for (int round = 0; round < FIRST_ROUNDS; ++round) {
        if (seen()) return Satisfied;
        sched_yield();
    }
    const bool limited = timeout >= 0 && timeout < 1e9;  // what is longer than decades does not fit the clock
    const auto limit = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limited ? timeout : 0));
    Story story;
    for (;;) {
        bool satisfied = false, given_up = false, late = false;
        Py_BEGIN_ALLOW_THREADS
        const auto slice = Clock::now() + std::chrono::milliseconds(20);
        for (unsigned round = 1; !(satisfied = seen()); ++round) {
            given_up = hopeless();
            if (given_up) break;
            if (between_nodes && idle > SPINS) usleep(NAP);
            else sched_yield();
            if (round % 64) continue;
            const auto now = Clock::now();
            late = limited && now >= limit;
            if (late || now >= slice) break;
        }
        Py_END_ALLOW_THREADS
        if (satisfied || done()) return Satisfied;
        if (given_up) return Lost;
        if (late) return TimedOut;
        if (PyErr_CheckSignals() != 0 || !story.goes_on()) return Interrupted;
    }
}

}  // namespace ishmem
