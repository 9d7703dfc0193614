#include "late.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "operations.hpp"

namespace ishmem {
namespace {

constexpr size_t PART = 16;     // a long put may arrive in two parts, divided at a multiple of this
constexpr size_t NOTES = 16;    // that many are reported
constexpr uint64_t SOON = 300;  // microseconds
constexpr auto LOOK = std::chrono::microseconds(300);
constexpr char PATTERN = '\xa5';

char *near(int pe, uint64_t place) { return heap().mapped[static_cast<size_t>(pe)] + place; }

int move(char *to, const char *from, size_t bytes, size_t item) {
    if (bytes == item) store_element(to, from, item);
    else std::memcpy(to, from, bytes);
    return 0;
}

// Copies `bytes` between a heap and memory of this PE.
void copy(Mover mover, char *far, char *local, size_t bytes, bool put) {
    if (mover) mover(far, local, bytes, put);
    else std::memmove(put ? far : local, put ? local : far, bytes);
}

bool overlap(uint64_t a, size_t a_bytes, uint64_t b, size_t b_bytes) { return a < b + b_bytes && b < a + a_bytes; }

}  // namespace

Late::Late(uint64_t seed, PyObject *where) : last_(static_cast<size_t>(heap().n_pes)), where_(where) {
    Py_XINCREF(where_);
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
    const std::lock_guard<std::mutex> lock(queue_);
    if (stop_) return;
    held.epoch = epoch_;
    held.number = number_++;
    uint64_t &last = last_[static_cast<size_t>(held.pe)];
    held.due = Clock::now() + delay(last != epoch_ + 1, held.local);
    last = epoch_ + 1;
    held_.push_back(std::move(held));
    changed_queue_.notify_one();
}

void Late::put(char *far, const char *from, size_t bytes, size_t item, const char *routine) {
    if (!bytes) return;
    const uint64_t place = far_place(far);
    const std::string at = where(routine);
    size_t cut = bytes;
    if (bytes > PART) {
        const std::lock_guard<std::mutex> lock(queue_);
        if (random() % 2) cut = std::max(PART, random() % bytes / PART * PART);
    }
    for (size_t done = 0; done < bytes; done = cut, cut = bytes) {
        Held held{Put, far_pe(far), place + done, place, cut - done, item, {from + done, from + cut}};
        held.where = at;
        hold(std::move(held));
    }
}

void Late::put_nbi(char *far, char *from, size_t bytes, PyObject *object, Mover mover, const char *routine) {
    if (!bytes) return;
    Held held{Put, far_pe(far), far_place(far), far_place(far), bytes, 0, std::vector<char>(bytes), from, mover};
    copy(mover, held.data.data(), from, bytes, true);
    held.where = where(routine);
    keep(object);
    hold(std::move(held));
}

void Late::get_nbi(char *into, char *far, size_t bytes, PyObject *object, Mover mover, const char *routine) {
    if (!bytes) return;
    std::vector<char> pattern(bytes, PATTERN);
    copy(mover, pattern.data(), into, bytes, false);
    Held held{Get, far_pe(far), far_place(far), far_place(far), bytes, 0, {}, into, mover};
    held.where = where(routine);
    keep(object);
    hold(std::move(held));
}

void Late::get(char *into, const char *far, size_t bytes, const char *routine) {
    const int pe = far_pe(far);
    const uint64_t place = far_place(far);
    {
        const std::lock_guard<std::mutex> lock(queue_);
        for (const Held &each : held_)
            if (each.kind != Get && each.pe == pe && overlap(each.place, each.bytes, place, bytes) && overtaken_.size() < NOTES) {
                overtaken_.push_back(words(each) + " was on its way when " + routine + " read there");
                break;
            }
    }
    move(into, near(pe, place), bytes, bytes <= 8 ? bytes : 0);
}

void Late::update(char *far, int rmw, size_t item, uint64_t value, const char *routine, uint64_t after) {
    Held held{Update, far_pe(far), far_place(far), far_place(far), item, item};
    held.rmw = rmw, held.value = value, held.after = after;
    held.where = where(routine);
    hold(std::move(held));
}

uint64_t Late::mark() {
    const std::lock_guard<std::mutex> lock(queue_);
    return number_;
}

void Late::signal(char *far, int rmw, uint64_t value, uint64_t since) {
    Held held{Update, far_pe(far), far_place(far), far_place(far), sizeof value, sizeof value};
    held.rmw = rmw, held.value = value, held.since = since;
    held.where = where("put_signal");
    hold(std::move(held));
}

uint64_t Late::fetch(char *far, int rmw, size_t item, uint64_t value, uint64_t cond) {
    if (rmw != Fetch) {  // it stores, so a fence orders it
        const std::lock_guard<std::mutex> delivery(delivery_);
        List items = take(far_pe(far), false);
        deliver(items);
    }
    return update_element(rmw, near(far_pe(far), far_place(far)), item, value, cond);
}

void Late::fence() {
    if (direct_ || !heap().host_atomics || !heap().statics.empty()) return complete();
    const std::lock_guard<std::mutex> lock(queue_);
    ++epoch_;
}

void Late::complete() {
    const std::lock_guard<std::mutex> delivery(delivery_);
    List items = take(-1, true);
    deliver(items);
    if (!PyGILState_Check()) return;
    std::vector<PyObject *> free;
    free.swap(kept_);
    for (PyObject *object : free) Py_DECREF(object);
}

// A put has a copy of its data from the call on; a get is delivered.
void Late::flush() {
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
        note_changed(*put);
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
    const auto rank = [](const Held &held) { return std::make_pair(held.epoch, held.is_signal()); };
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
        if (!each->is_signal() || std::none_of(held_.begin(), held_.end(), is_its_data)) due.push_back(each);
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
    char *at = near(held.pe, held.place);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (held.kind == Update) {
        update_element(held.rmw, at, held.item, held.value, 0);
    } else if (held.kind == Get) {
        copy(held.mover, at, held.local, held.bytes, false);
    } else if (!held.local) {
        move(at, held.data.data(), held.bytes, held.item);
    } else {
        copy(held.mover, at, held.local, held.bytes, true);
        note_changed(held);
    }
}

// Notes a non-blocking put whose source has changed since the call.
void Late::note_changed(const Held &put) {
    std::vector<char> now(put.bytes);
    copy(put.mover, now.data(), put.local, put.bytes, true);
    if (now == put.data) return;
    const std::lock_guard<std::mutex> lock(queue_);
    if (changed_.size() < NOTES) changed_.push_back(words(put));
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
    if (overtaken_.size() >= NOTES || by.kind == Get) return;
    for (const Held &each : held_) {
        if (each.pe != by.pe || each.number >= by.number || each.where == by.where) continue;
        std::string note = words(each) + " was on its way when " + words(by) + " arrived";
        if (std::find(overtaken_.begin(), overtaken_.end(), note) == overtaken_.end()) overtaken_.push_back(std::move(note));
        return;
    }
}

std::string Late::words(const Held &held) const {
    return held.where + "\t" + std::to_string(held.pe) + "\t" + std::to_string(held.place) + "\t" + std::to_string(held.bytes) + "\t";
}

// Names the routine, and the line of the program that called it; kernels and threads without the GIL have none.
std::string Late::where(const char *routine) {
    if (!PyGILState_Check() || !where_) return std::string(routine) + " in a kernel";
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
        if (pe != h.me) h.targets[static_cast<size_t>(pe)] = far_address(pe, 0);
    late = new Late(seed, where);
}

void stop_late() {
    if (late) late->stop();
}

}  // namespace ishmem
