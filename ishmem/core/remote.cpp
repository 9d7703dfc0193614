#include "remote.hpp"

#include <algorithm>
#include <cstring>

#include "polling.hpp"
#include "proxy.hpp"

namespace ishmem::direct {
namespace {

std::vector<PyObject *> kept;  // arrays that pending nbi operations read or write; guarded by the GIL

// Whether a loss ends a wait for any PE. In a job that goes on, the engine ends all operations on the lost PE.
bool is_lost() { return heap().status.has_lost() && !heap().status.survives_losses; }

// poll() for callers that have released the GIL.
template <class Done, class Hopeless>
Outcome drive_until(Done done, Hopeless hopeless) {
    for (unsigned idle = 0;; ++idle) {
        if (done()) return Satisfied;
        if (network_engine()->drive()) idle = 0;
        else if (hopeless()) return Lost;
        else if (long_idle(idle)) nap(NAP);
        else sched_yield();
    }
}

template <class Done, class Hopeless = bool (*)()>
Outcome await(Done done, Hopeless hopeless = is_lost) {
    if (done()) return Satisfied;
    return PyGILState_Check() ? poll(done, hopeless, -1, FROM_NETWORK, 1) : drive_until(done, hopeless);  // drives after each look
}

// Waits for a group and gives up its ownership. When the wait ends early, the last operation deletes the group.
bool await_group(Group *group, PyObject *keep) {
    const bool ended = await([=] { return group->pending == 0; }) == Satisfied, done = ended && !group->lost;
    if (!ended) Py_XINCREF(keep);  // never released: pending operations may still access its memory
    network_engine()->abandon(group);
    return done;
}

template <class Start>
bool start_or_wait(Start start) {
    return start() || await(start) == Satisfied;
}

// Starts an operation that a quiet of this PE's host or of its kernels completes.
template <class Start>
bool start_put(Start start) {
    if (!start_or_wait(start)) return false;
    host_has_put();
    return true;
}

void keep_until_quiet(PyObject *object) {
    Py_XINCREF(object);
    if (object) kept.push_back(object);
}

// Releases the arrays of operations that have ended, where the caller has the GIL.
void release_kept() {
    if (kept.empty() || !PyGILState_Check() || network_engine()->background.pending) return;
    std::vector<PyObject *> free;
    free.swap(kept);
    for (PyObject *object : free) Py_DECREF(object);
}

// The outcome of a wait for the operations in the background, of which some may have ended because of a loss.
Outcome settled(Outcome outcome) {
    if (outcome != Satisfied) return outcome;
    release_kept();
    return network_engine()->background.lost.exchange(false) ? Lost : Satisfied;
}

// Waits for the operations of a group; null: there are none.
Outcome await_all(const Group *group) {
    if (!group) return Satisfied;
    const Outcome outcome = await([=] { return group->pending == 0; });
    return outcome == Satisfied && group->lost ? Lost : outcome;
}

}  // namespace

bool remote_put_uncounted(char *far, const void *from, size_t bytes) {
    const char *start = static_cast<const char *>(from);
    for (size_t done = 0; done < bytes; done += EAGER) {
        const size_t part = std::min(EAGER, bytes - done);
        if (!start_or_wait([&] { return network_engine()->put(far + done, start + done, part, network_engine()->background, false); })) return false;
    }
    return true;
}

bool remote_put(char *far, const char *from, size_t bytes, PyObject *keep, bool nbi) {
    NetworkEngine &e = *network_engine();
    if (!bytes) return true;
    if (bytes <= EAGER || nbi) {
        if (!start_put([&] { return e.put(far, from, bytes, e.background); })) return false;
        if (bytes > EAGER) keep_until_quiet(keep);
        return true;
    }
    Group *group = new Group;
    if (start_put([&] { return e.put(far, from, bytes, *group); })) return await_group(group, keep);
    e.abandon(group);
    return false;
}

bool remote_get(char *into, const char *far, size_t bytes, PyObject *keep, bool nbi) {
    NetworkEngine &e = *network_engine();
    if (!bytes) return true;
    Group *group = nbi ? &e.background : new Group;
    const bool started = start_or_wait([&] { return e.get(into, far, bytes, *group); });
    if (nbi) {
        if (started) keep_until_quiet(keep);
        return started;
    }
    if (started) return await_group(group, keep);
    e.abandon(group);
    return false;
}

bool remote_update(char *far, int rmw, size_t item, uint64_t value) {
    return start_put([&] { return network_engine()->update(far, rmw, item, value); });
}

bool remote_atomic(char *far, int rmw, size_t item, uint64_t value, uint64_t cond, uint64_t &old) {
    NetworkEngine &e = *network_engine();
    Group *group = new Group;
    bool done = start_or_wait([&] { return e.atomic(far, rmw, item, value, cond, *group); });
    done = done && await([=] { return group->pending == 0; }) == Satisfied && !group->lost;
    old = static_cast<uint64_t>(group->value.load());
    e.abandon(group);
    return done;
}

Outcome remote_quiet() {
    NetworkEngine *e = network_engine();
    if (!e) return Satisfied;
    const Mark mark = e->mark();
    const Outcome outcome = await([&] { return e->is_quiet(mark); });
    return settled(outcome);
}

Outcome remote_flush() {
    NetworkEngine *e = network_engine();
    if (!e) return Satisfied;
    const Outcome outcome = await([=] { return e->background.pending == 0; });
    return settled(outcome);
}

Gets::~Gets() {
    if (group_) network_engine()->abandon(group_);
}

bool Gets::start(char *into, const char *from, size_t bytes) {
    if (!is_far(from)) return copy_any(into, from, bytes);
    if (!group_) group_ = new Group;
    return !bytes || start_or_wait([&] { return network_engine()->get(into, from, bytes, *group_); });
}

Outcome Gets::await() { return await_all(group_); }

Puts::~Puts() {
    if (group_) network_engine()->abandon(group_);
}

bool Puts::start(char *far, const char *from, size_t bytes) {
    if (!group_) group_ = new Group;
    return start_or_wait([&] { return network_engine()->put(far, from, bytes, *group_, false); });
}

Outcome Puts::await() { return await_all(group_); }

Outcome await_word(const Team &team, const uint64_t *at, uint64_t least, size_t) {
    return await([=] { return __atomic_load_n(at, __ATOMIC_ACQUIRE) >= least; }, [&] { return heap().has_lost(team); });
}

}  // namespace ishmem::direct
