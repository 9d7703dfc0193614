#include "late_delivery.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "polling.hpp"
#include "reach.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

constexpr size_t PART = 16;     // a long put may arrive in two parts, divided at a multiple of this
constexpr size_t NOTES = 16;    // that many are reported
constexpr size_t MOST = 1024;   // operations that are held: each delivery looks at all of them
constexpr uint64_t SOON = 300;  // microseconds
constexpr auto LOOK = std::chrono::microseconds(300);
constexpr char PATTERN = '\xa5';

// The address at which an operation is done: of the host's mapping, or far on other nodes.
char *address(int pe, uint64_t offset) {
    return offset < STATICS_AT ? heap().mapped[static_cast<size_t>(pe)] + offset : heap().static_in(pe, offset - STATICS_AT, 1);
}

// Copies `bytes` between a buffer of the host and memory of this PE.
void copy(Mover mover, char *buffer, char *local, size_t bytes, bool put) {
    if (mover) mover(buffer, local, bytes, put);
    else std::memmove(put ? buffer : local, put ? local : buffer, bytes);
}

// Releases the GIL, if this thread has it: the threads that notice a lost PE need it.
struct WithoutGil {
    PyThreadState *const state = PyGILState_Check() ? PyEval_SaveThread() : nullptr;
    WithoutGil() = default;
    ~WithoutGil() {
        if (state) PyEval_RestoreThread(state);
    }
    WithoutGil(const WithoutGil &) = delete;
    WithoutGil &operator=(const WithoutGil &) = delete;
};

bool overlap(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

}  // namespace

Late::Late(uint64_t seed, PyObject *where) : last_(static_cast<size_t>(heap().n_pes)), where_(where) {
    Py_INCREF(where_);
    reseed(seed);
    thread_ = std::thread([this] { run(); });
}

void Late::stop() {
    {
        const std::lock_guard<std::mutex> lock(queue_);
        stop_ = true;
        held_.clear();
    }
    changed_queue_.notify_all();
    thread_.join();
}

void Late::reseed(uint64_t seed) {
    const std::lock_guard<std::mutex> lock(queue_);
    state_ = (seed + 1) * 0xd1342543de82ef95u + static_cast<uint64_t>(heap().me) * 0x2545f4914f6cdd1du;
    expired_ = 0;
}

uint64_t Late::random() {
    uint64_t mixed = (state_ += 0x9e3779b97f4a7c15u);
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

// The first operation on a PE after a fence usually comes late, so that the later ones, such as a flag, overtake it.
Late::Clock::duration Late::delay(bool first, bool nbi) {
    const bool is_long = random() % 4 < (first ? 3 : 2) || nbi;
    const uint64_t half = longest() / 2;
    return std::chrono::microseconds(is_long ? half + random() % (half + 1) : random() % SOON);
}

void Late::hold(Held held) {
    bool is_full;
    {
        const std::lock_guard<std::mutex> lock(queue_);
        if (stop_) return;
        held.epoch = epoch_;
        held.number = number_++;
        uint64_t &last = last_[static_cast<size_t>(held.pe)];
        held.due = Clock::now() + delay(last != epoch_ + 1, held.local);
        last = epoch_ + 1;
        held_.push_back(std::move(held));
        is_full = held_.size() >= MOST;
        changed_queue_.notify_one();
    }
    if (is_full) take_and_deliver(-1, true);
}

void Late::put(char *far, const char *from, size_t bytes, size_t item, const std::string &where) {
    if (!bytes) return;
    const uint64_t offset = far_offset(far);
    size_t cut = bytes;
    if (bytes > PART) {
        const std::lock_guard<std::mutex> lock(queue_);
        if (random() % 2) cut = std::max(PART, random() % bytes / PART * PART);
    }
    for (size_t done = 0; done < bytes; done = cut, cut = bytes) {
        Held held{Put, far_pe(far), offset + done, cut - done, item, {from + done, from + cut}};
        held.where = where;
        hold(std::move(held));
    }
}

void Late::put_blocks(char *far, const char *from, size_t bytes, size_t item, const Steps &steps, const std::string &where) {
    if (!bytes) return;
    size_t cut = steps.count;
    if (cut > 1) {
        const std::lock_guard<std::mutex> lock(queue_);
        if (random() % 2) cut = 1 + random() % (cut - 1);
    }
    for (size_t done = 0; done < steps.count; done = cut, cut = steps.count) {
        const size_t count = cut - done;
        const size_t step = static_cast<size_t>(steps.to);
        Held held{Put, far_pe(far), far_offset(far) + done * step, (count - 1) * step + bytes, item};
        held.block = bytes, held.step = step;
        held.data.resize(count * bytes);
        char *to = held.data.data();
        for (size_t i = done; i < cut; ++i, to += bytes) std::memcpy(to, from + static_cast<ptrdiff_t>(i) * steps.from, bytes);
        held.where = where;
        hold(std::move(held));
    }
}

void Late::put_nbi(char *far, char *from, size_t bytes, PyObject *object, Mover mover, const std::string &where) {
    if (!bytes) return;
    Held held{Put, far_pe(far), far_offset(far), bytes, 0, std::vector<char>(bytes), from, mover};
    copy(mover, held.data.data(), from, bytes, true);
    held.where = where;
    keep(object);
    hold(std::move(held));
}

void Late::get_nbi(char *into, char *far, size_t bytes, PyObject *object, Mover mover, const std::string &where) {
    if (!bytes) return;
    std::vector<char> pattern(bytes, PATTERN);
    copy(mover, pattern.data(), into, bytes, false);
    Held held{Get, far_pe(far), far_offset(far), bytes, 0, {}, into, mover};
    held.where = where;
    keep(object);
    hold(std::move(held));
}

void Late::update(char *far, int rmw, size_t item, uint64_t value, const std::string &where) {
    Held held{Update, far_pe(far), far_offset(far), item, item};
    held.rmw = rmw, held.value = value;
    held.where = where;
    hold(std::move(held));
}

uint64_t Late::mark() {
    const std::lock_guard<std::mutex> lock(queue_);
    return number_;
}

void Late::signal(char *far, int rmw, size_t item, uint64_t value, uint64_t since, const std::string &where) {
    Held held{Update, far_pe(far), far_offset(far), item, item};
    held.rmw = rmw, held.value = value, held.is_signal = true, held.since = since;
    held.where = where;
    hold(std::move(held));
}

const char *Late::read(const char *far, size_t bytes, const char *routine) {
    const int pe = far_pe(far);
    const uint64_t offset = far_offset(far);
    const std::lock_guard<std::mutex> lock(queue_);
    const auto is_there = [&](const Held &it) {
        return it.kind != Get && it.pe == pe && overlap(it.offset, it.bytes, offset, bytes);
    };
    const auto found = std::find_if(held_.begin(), held_.end(), is_there);
    if (found != held_.end()) note(words(*found) + " was on its way when " + routine + " read there");
    return address(pe, offset);
}

char *Late::fetch(char *far, int rmw) {
    if (rmw != Fetch) take_and_deliver(far_pe(far), false);
    return address(far_pe(far), far_offset(far));
}

void Late::fence() {
    if (direct_ || !heap().host_atomics) return complete();
    const std::lock_guard<std::mutex> lock(queue_);
    ++epoch_;
}

void Late::complete() {
    std::vector<PyObject *> free;
    if (PyGILState_Check()) free.swap(kept_);  // before other threads run, which may keep more
    take_and_deliver(-1, true);
    for (PyObject *object : free) Py_DECREF(object);
}

void Late::take_and_deliver(int pe, bool also_this) {
    const WithoutGil others_run;
    const std::lock_guard<std::mutex> delivery(delivery_);
    List items = take(pe, also_this);
    deliver(items);
}

// A put has a copy of its data from the call on; a get is delivered.
void Late::flush() {
    const WithoutGil others_run;
    const std::lock_guard<std::mutex> delivery(delivery_);  // nothing else is taken out
    List gets;
    std::vector<Held *> puts;
    {
        const std::lock_guard<std::mutex> lock(queue_);
        for (auto each = held_.begin(); each != held_.end();) {
            const auto at = each++;
            if (at->kind == Get) gets.splice(gets.end(), held_, at);
            else if (at->local) puts.push_back(&*at);
        }
    }
    for (Held *put : puts) {
        source_of(*put);
        put->local = nullptr;
    }
    deliver(gets);
}

// Takes out what is held for a PE, or for all (-1), of earlier epochs only or also of this one, in an order that keeps
// that of the epochs and that of signals after their data.
Late::List Late::take(int pe, bool also_this) {
    const std::lock_guard<std::mutex> lock(queue_);
    const uint64_t end = also_this ? ++epoch_ : epoch_;
    std::vector<Held> taken;
    for (auto each = held_.begin(); each != held_.end();)
        if ((pe < 0 || each->pe == pe) && each->epoch < end) {
            taken.push_back(std::move(*each));
            each = held_.erase(each);
        } else {
            ++each;
        }
    for (size_t i = taken.size(); i > 1; --i) std::swap(taken[i - 1], taken[random() % i]);
    const auto rank = [](const Held &held) { return std::make_pair(held.epoch, held.is_signal); };
    std::stable_sort(taken.begin(), taken.end(), [&](const Held &a, const Held &b) { return rank(a) < rank(b); });
    return {std::make_move_iterator(taken.begin()), std::make_move_iterator(taken.end())};
}

// Takes out what is due and may come next: of each PE only what is of its first epoch, and no signal before its data.
Late::List Late::take_due(Clock::time_point now) {
    const std::lock_guard<std::mutex> lock(queue_);
    std::map<int, uint64_t> first;
    std::vector<List::iterator> due;
    for (auto each = held_.begin(); each != held_.end(); ++each) {
        if (first.emplace(each->pe, each->epoch).first->second != each->epoch || each->due > now) continue;
        const auto is_its_data = [&](const Held &it) { return each->waits_for(it); };
        if (!each->is_signal || std::none_of(held_.begin(), held_.end(), is_its_data)) due.push_back(each);
    }
    List taken;
    for (auto each : due) taken.splice(taken.begin(), held_, each);  // the last first
    expired_ += taken.size();
    return taken;
}

void Late::deliver(List &items) {
    for (; !items.empty(); items.pop_front()) deliver(items.front());
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void Late::deliver(Held &held) {
    keep_overtaken(held);
    note_overtaken(held);
    char *at = address(held.pe, held.offset);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (held.kind == Update) return update(held, at);
    if (held.kind == Get) return load(held, at);
    store(held, at, held.local ? source_of(held) : held.data);
}

// Waits as drive_until() does. What drive() serves besides may itself wait for this delivery.
template <class Done>
bool Late::advance_until(Done done) {
    for (unsigned idle = 0; !done(); ++idle) {
        if (stop_ || heap().status.has_lost()) return false;
        if (network_engine()->advance()) idle = 0;
        else if (long_idle(idle)) nap(NAP);
        else sched_yield();
    }
    return true;
}

void Late::store(const Held &held, char *at, const std::vector<char> &data) {
    const size_t block = held.block ? held.block : held.bytes;
    for (size_t done = 0; done < data.size(); done += block, at += held.step) {
        const char *from = data.data() + done;
        if (is_far(at)) send(at, from, block);
        else if (block == held.item) store_element(at, from, block);
        else std::memcpy(at, from, block);
    }
}

// Puts to another node in parts that travel in packets, which arrive in their order.
void Late::send(char *far, const char *from, size_t bytes) {
    for (size_t done = 0; done < bytes; done += EAGER) {
        const size_t part = std::min(EAGER, bytes - done);
        const auto put = [&] { return network_engine()->put(far + done, from + done, part, network_engine()->background); };
        if (!advance_until(put)) return;
    }
}

void Late::load(const Held &held, char *at) {
    if (!is_far(at)) return copy(held.mover, at, held.local, held.bytes, false);
    std::vector<char> data(held.bytes);
    Group *group = new Group;
    bool done = advance_until([&] { return network_engine()->get(data.data(), at, held.bytes, *group); });
    done = done && advance_until([&] { return group->pending == 0; });
    if (done) copy(held.mover, data.data(), held.local, held.bytes, false);
    else leak(data);
    network_engine()->abandon(group);
}

void Late::update(const Held &held, char *at) {
    if (!is_far(at)) update_element(held.rmw, at, held.item, held.value, 0, nullptr);
    else advance_until([&] { return network_engine()->update(at, held.rmw, held.item, held.value); });
}

// Reads the source buffer of a nonblocking put, and notes whether it has changed since the call.
std::vector<char> Late::source_of(const Held &put) {
    std::vector<char> now(put.bytes);
    copy(put.mover, now.data(), put.local, put.bytes, true);
    const std::lock_guard<std::mutex> lock(queue_);
    if (now != put.data && changed_.size() < NOTES) changed_.push_back(words(put));
    return now;
}

// Holds what has been overtaken for longer, once, so that a PE that runs late on a busy machine sees that it is missing.
void Late::keep_overtaken(const Held &by) {
    const std::lock_guard<std::mutex> lock(queue_);
    if (by.kind == Get) return;
    for (Held &each : held_) {
        if (each.pe != by.pe || each.number >= by.number || each.kind == Get || std::exchange(each.is_overtaken, true)) continue;
        each.due = std::max(each.due, Clock::now()) + std::chrono::microseconds(longest());
    }
}

void Late::note_overtaken(const Held &by) {
    const std::lock_guard<std::mutex> lock(queue_);
    if (by.kind == Get) return;
    for (const Held &each : held_) {
        if (each.pe != by.pe || each.number >= by.number || each.where == by.where) continue;
        return note(words(each) + " was on its way when " + words(by) + " arrived");
    }
}

// Keeps a text for the report, once; under the lock of the queue.
void Late::note(std::string text) {
    const bool is_known = std::find(overtaken_.begin(), overtaken_.end(), text) != overtaken_.end();
    if (!is_known && overtaken_.size() < NOTES) overtaken_.push_back(std::move(text));
}

std::string Late::words(const Held &held) const {
    return held.where + "\t" + std::to_string(held.pe) + "\t" + std::to_string(held.offset) + "\t" + std::to_string(held.bytes) + "\t";
}

std::string Late::where(const char *routine) const {
    PyObject *line = PyObject_CallFunction(where_, "s", routine);
    const char *text = line ? PyUnicode_AsUTF8(line) : nullptr;
    std::string found = text ? text : routine;
    Py_XDECREF(line);
    PyErr_Clear();
    return found;
}

void Late::keep(PyObject *object) {
    if (!object) return;
    Py_INCREF(object);
    kept_.push_back(object);
}

std::vector<std::string> Late::changed() {
    const std::lock_guard<std::mutex> lock(queue_);
    return std::exchange(changed_, {});
}

std::vector<std::string> Late::notes() {
    const std::lock_guard<std::mutex> lock(queue_);
    std::vector<std::string> all = overtaken_;
    for (const Held &each : held_)
        if (all.size() < 2 * NOTES) all.push_back(words(each) + " is on its way");
    return all;
}

// Delivers what is due.
void Late::run() {
    std::unique_lock<std::mutex> lock(queue_);
    while (!stop_) {
        if (held_.empty()) {
            changed_queue_.wait(lock);
            continue;
        }
        changed_queue_.wait_for(lock, LOOK);
        lock.unlock();
        {
            const std::lock_guard<std::mutex> delivery(delivery_);
            List items = take_due(Clock::now());
            deliver(items);
        }
        lock.lock();
    }
}

void start_late(uint64_t seed, PyObject *where) {
    Heap &h = heap();
    for (int pe = 0; pe < h.n_pes; ++pe)
        if (pe != h.me) h.targets[static_cast<size_t>(pe)] = far_address(pe, 0), h.reaches[static_cast<size_t>(pe)] = &by_late_delivery;
    late = new Late(seed, where);
}

void stop_late() {
    if (late) late->stop();
}

}  // namespace ishmem
