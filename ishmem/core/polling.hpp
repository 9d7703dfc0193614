// Polling of this PE's own heap. An unsuccessful poll yields the processor: with more PEs than cores this lets the
// awaited PE run. With a core for each PE only every hundredth poll yields, and none of the first thousand, because a
// yield delays the detection of the awaited store; a long wait sleeps between polls.
#pragma once
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "network_engine.hpp"
#include "operations.hpp"
#include "transport.hpp"

namespace ishmem {

using Clock = std::chrono::steady_clock;

constexpr int FIRST_ROUNDS = 8;  // rounds that hold the GIL: releasing and taking it costs as much as a few rounds
constexpr int FIRST_LOOKS = 10;  // times the looks of a round, before the first yield: about the time of a barrier

// Idle rounds before a wait between nodes sleeps, also while long payloads are in flight, which advance only when the
// engine is driven; microseconds of a sleep.
constexpr unsigned SPINS = 100, SPINS_MOVING = 2000, NAP = 20;

inline bool long_idle(unsigned rounds) { return rounds > (network_engine()->moves() ? SPINS_MOVING : SPINS); }

// Sleeps; a thread's timers are late by up to 50 us unless its slack is reduced.
inline void nap(unsigned microseconds) {
    static thread_local const int slack = prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    static_cast<void>(slack);
    usleep(microseconds);
}

// How long a wait sleeps between polls. For the scheduler, a PE that only yields keeps its core busy, so with more
// processes than cores, those that compute would stay together on another core. With a core for each PE, what a long
// wait waits for may still be in another process: a compiler, or another job, which is seen by yields that take long.
class Pause {
 public:
    static constexpr unsigned ROUNDS = 64;  // between two calls of `update` of a wait that yields

    unsigned microseconds = 0;  // of the next sleep; 0: the wait yields

    Pause(Clock::time_point begin, bool crowded) : begin(begin), before(begin), crowded(crowded) {}

    void update(Clock::time_point now) {
        constexpr auto WITH_OTHERS = std::chrono::milliseconds(1);  // alone, ROUNDS yields take a tenth of it
        constexpr long LONGEST = 1000;
        crowded |= !microseconds && now - before > WITH_OTHERS;
        before = now;
        const long patience = crowded ? 500 : 10000, part = crowded ? 16 : 64;
        const long waited = std::chrono::duration_cast<std::chrono::microseconds>(now - begin).count();
        microseconds = waited < patience ? 0 : static_cast<unsigned>(std::min(waited / part, LONGEST));
    }

 private:
    const Clock::time_point begin;
    Clock::time_point before;
    bool crowded;
};

// Rounds per call of NetworkEngine::drive(). Where PEs of this node are awaited, most rounds only yield: with few cores, the
// awaited PE needs them, and a call of MPI takes longer than a look at shared memory.
constexpr unsigned FROM_NETWORK = 1, FROM_NODE = 8;

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

// Reports a long wait to Python: after every slice that it goes on, and at its end. See ishmem/runtime/long_waits.py.
class WaitReport {
 public:
    ~WaitReport() {
        if (told) tell_wait(false);
    }
    bool goes_on() { return told = true, tell_wait(true); }

 private:
    bool told = false;
};

// Polls while holding the GIL. `looks(n)` looks n times; a round has `per_round`, 1 where looks are not to be repeated.
// Between nodes the first round is as short as the others: it ends with driving the engine.
template <class Looks>
bool poll_first(Looks looks, int per_round = heap().looks) {
    const int first = per_round > 1 && !network_engine() ? FIRST_LOOKS * per_round : per_round;
    for (int round = 0; round < FIRST_ROUNDS; ++round) {
        if (looks(round ? per_round : first)) return true;
        sched_yield();
    }
    return false;
}

namespace TRANSPORT {

// Polls in slices of 20 ms without the GIL and handles signals between slices. `looks` is the number of calls of
// `done` per round; it is 1 where one call takes long. Every `rounds_per_drive` rounds it drives the engine.
template <class Done, class Hopeless>
Outcome poll(Done done, Hopeless hopeless, double timeout, unsigned rounds_per_drive = FROM_NETWORK, int looks = heap().looks) {
    begin_wait();
    NetworkEngine *const between_nodes = network_engine();
    unsigned idle = 0, rounds = 0;
    const auto seen = [&](int times) {
        for (int look = 0; look < times; ++look)
            if (done()) return true;
        if (!between_nodes || (rounds++ % rounds_per_drive && !long_idle(idle))) return false;
        idle = between_nodes->drive() ? 0 : idle + 1;
        return done();
    };
    if (poll_first(seen, looks)) return Satisfied;
    const bool limited = timeout >= 0 && timeout < 1e9;  // a longer timeout would overflow the clock
    const auto begin = Clock::now();
    const auto limit =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limited ? timeout : 0));
    Pause pause(begin, heap().crowded);
    WaitReport report;
    for (;;) {
        bool satisfied = false, given_up = false, timed_out = false;
        Py_BEGIN_ALLOW_THREADS
        const auto slice = Clock::now() + std::chrono::milliseconds(20);
        for (unsigned round = 1; !(satisfied = seen(looks)); ++round) {
            given_up = hopeless();
            if (given_up) break;
            if (between_nodes && long_idle(idle)) nap(NAP);
            else if (pause.microseconds) nap(pause.microseconds);
            else sched_yield();
            if (!pause.microseconds && round % Pause::ROUNDS) continue;
            const auto now = Clock::now();
            if (!between_nodes) pause.update(now);
            timed_out = limited && now >= limit;
            if (timed_out || now >= slice) break;
        }
        Py_END_ALLOW_THREADS
        if (satisfied || done()) return Satisfied;
        if (given_up) return Lost;
        if (timed_out) return TimedOut;
        if (PyErr_CheckSignals() != 0 || !report.goes_on()) return Interrupted;
    }
}

}  // namespace TRANSPORT
}  // namespace ishmem
