#include "proxy.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "late_delivery.hpp"
#include "polling.hpp"
#include "remote.hpp"

namespace ishmem {
namespace {

using namespace requests;

// turn: the lap of the ring whose request may be written here
// posted: the lap whose request is written completely, counted from 1
// what: kind, rmw << 8, bytes of an element << 16
// operand: an address on this PE, or a value; receives the result
// other: byte count, condition, upper half of a 16-byte value, or of a Signal what MarkHeld has returned
struct Request : Words {
    RequestKind kind() const { return static_cast<RequestKind>(what & 0xff); }
    int rmw() const { return static_cast<int>(what >> 8 & 0xff); }
    size_t item() const { return static_cast<size_t>(what >> 16 & 0xff); }
    size_t bytes() const { return kind() <= Get ? static_cast<size_t>(other) : item(); }
};
static_assert(sizeof(Request) == 64);

// A request that has begun; a request to another node completes later.
struct Begun {
    Request *slot;
    Request request;             // a copy: the slot may be freed before the request is complete
    int64_t lap;
    Group *group = nullptr;      // tracks answers and long payloads
    Mark mark = {};              // a put, or Quiet, is complete when all packets up to here are
    bool sends = false;          // a put whose source is still to be read: the slot is freed after that
    std::vector<char> buffer = {};  // host copy of device memory outside the heap
    bool direct = false;            // MPI uses the device address of such memory

    bool fetches() const { return request.kind() >= MarkHeld; }
    bool puts() const { return request.kind() == Put || request.kind() == Store || request.kind() == Update; }
};

struct Proxy {
    std::thread thread;
    std::mutex mutex;
    std::atomic<bool> stop{false};
    Header *header = nullptr;
    Request *ring = nullptr;
    int64_t slots = 0;
    const int64_t *tickets = nullptr;  // number of tickets that kernels have taken
    ProxySetup setup;
    std::atomic<int> problem{0};
    std::mutex copying;
    int64_t next = 0, asked = 0, finished = 0;  // tickets: to begin, to ask acknowledgements for, to complete
    std::deque<Begun> begun;      // from `finished` to before `next`
    std::deque<Begun *> sending;  // of these, the puts that send

    void run();
    bool step();
    bool begin();
    void ask();
    bool free_sent();
    void free_slot();
    bool end();
    int serve(Request &request, char *far);
    void order_held(Begun &each);
    bool hold(const Request &request);
    void begin_quiet(Begun &each);
    bool begin_far(Begun &each, char *far);
    bool is_done(Begun &each);
    char *own(const Request &request, Begun &each);
    void note(int result);
    int move_far(char *to, const void *from, size_t bytes);
    int copy(char *far, char *local, size_t bytes, bool put);
    int atomic(char *far, Request &request);
};

std::unique_ptr<Proxy> proxy;
std::mutex proxy_mutex;  // serialises the threads that drive the engine and stop_proxy()

template <class T>
T load(const T *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <class T>
void store(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }

// Idle polls before the thread sleeps between polls; microseconds of a sleep, which doubles after each LONGER idle polls,
// up to LONGEST times. It sleeps instead of yielding: on the simulator waiting kernels spin on the same cores, and the
// scheduler runs a thread that wakes up before the spinning ones, but a thread that yields after them.
constexpr unsigned BUSY = 1000, SLEEP = 20, LONGER = 500, LONGEST = 5;

// Model: tests/models/proxy_ring.pml.
void Proxy::run() {
    unsigned idle = 0;
    while (!stop.load(std::memory_order_relaxed)) {
        if (step()) idle = 0;
        else if (++idle > BUSY) usleep(SLEEP << std::min((idle - BUSY) / LONGER, LONGEST));
    }
}

// Begins posted requests and ends completed ones, both in ticket order. Returns whether there were any.
bool Proxy::step() {
    const std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
    if (!lock) return false;
    bool any = false;
    while (begin()) any = true, end();
    ask();
    return any | end();
}

bool Proxy::begin() {
    Request &request = ring[next % slots];
    const int64_t lap = next / slots + 1;
    if (load(&request.posted) != lap || static_cast<int64_t>(begun.size()) >= slots) return false;
    const Heap &h = heap();
    request.pe = h.pe_of(request.pe);
    Begun each = {&request, request, lap};
    const bool is_pe = request.pe >= 0 && request.pe < h.n_pes;
    char *far = is_pe ? h.symmetric(static_cast<int>(request.pe), request.offset, request.bytes(), false) : nullptr;
    if (request.kind() >= Fence && request.kind() <= MarkHeld) order_held(each);
    else if (!far) note(Outside);
    else if (request.kind() == Quiet) begin_quiet(each);
    else if (late && request.what & FROM_PROGRAM && request.pe != h.me && hold(request)) {}
    else if (!is_far(h.mapped[static_cast<size_t>(request.pe)])) note(serve(request, far));
    else if (!begin_far(each, far)) return false;
    if (!each.fetches() && !each.sends) store(&request.turn, lap);  // a kernel frees the slot of a result that it has read
    begun.push_back(std::move(each));
    if (begun.back().sends) sending.push_back(&begun.back());
    ++next;
    return true;
}

// Requests the acknowledgements of the puts that have begun: all at once, before the engine sends their packets.
void Proxy::ask() {
    for (asked = std::max(asked, finished); asked < next; ++asked) {
        Begun &each = begun[static_cast<size_t>(asked - finished)];
        if (each.group && each.puts()) each.mark = network_engine()->mark(static_cast<int>(each.request.pe));
    }
}

// Frees the slots of long puts whose source may be reused, in ticket order: a kernel waits for the last of several.
bool Proxy::free_sent() {
    const size_t before = sending.size();
    while (!sending.empty() && !sending.front()->group->pending) free_slot();
    return sending.size() < before;
}

void Proxy::free_slot() {
    store(&sending.front()->slot->turn, sending.front()->lap);
    sending.pop_front();
}

bool Proxy::end() {
    bool any = free_sent();
    for (; !begun.empty() && is_done(begun.front()); any = true) {
        if (!sending.empty() && sending.front() == &begun.front()) free_slot();
        begun.pop_front();
        store(&header->completed, ++finished);
    }
    return any;
}

void Proxy::note(int result) {
    int none = 0;
    if (result) problem.compare_exchange_strong(none, result);
}

// Returns the address of this PE's operand of a copy: in the mapped heap, in a host buffer, or a device address for MPI.
char *Proxy::own(const Request &request, Begun &each) {
    const Heap &h = heap();
    char *local = reinterpret_cast<char *>(request.operand);
    if (local >= h.base && local < h.base + h.size) return h.mapped[static_cast<size_t>(h.me)] + (local - h.base);
    if ((each.direct = network_engine()->is_direct(request.bytes()))) return local;
    each.buffer.resize(request.bytes());
    if (request.kind() == Put) note(copy(each.buffer.data(), local, request.bytes(), true));
    return each.buffer.data();
}

// Marks the puts of the host, for whose completion this request waits.
// Model: tests/models/host_puts.pml.
void Proxy::begin_quiet(Begun &each) {
    __atomic_exchange_n(&header->host_puts, 0, __ATOMIC_RELEASE);
    each.mark = network_engine()->mark();  // under the mutex of puts: one that is not in it sets host_puts later
}

// Hands a request to the engine; false when the engine has no room or credit at present.
bool Proxy::begin_far(Begun &each, char *far) {
    Request &request = *each.slot;
    NetworkEngine &e = *network_engine();
    each.group = new Group;
    bool started = true;
    const uint64_t value = static_cast<uint64_t>(request.operand), cond = static_cast<uint64_t>(request.other);
    switch (request.kind()) {
        case Put: started = !request.bytes() || e.put(far, own(request, each), request.bytes(), *each.group); break;
        case Get: started = !request.bytes() || e.get(own(request, each), far, request.bytes(), *each.group); break;
        case Store: started = e.put(far, reinterpret_cast<char *>(&request.operand), request.bytes(), *each.group); break;
        case Load: started = e.get(reinterpret_cast<char *>(&request.operand), far, request.bytes(), *each.group); break;
        case AtomicRmw: started = e.atomic(far, request.rmw(), request.item(), value, cond, *each.group); break;
        case Update: started = e.update(far, request.rmw(), request.item(), value); break;
        default: break;
    }
    each.sends = request.kind() == Put && request.bytes() > EAGER && each.buffer.empty();
    if (!started) e.abandon(each.group);
    else if (each.direct) e.count_direct();
    return started;
}

bool Proxy::is_done(Begun &each) {
    const bool is_quiet = each.request.kind() == Quiet || (each.request.kind() == Complete && network_engine());
    const bool given_up = heap().status.has_lost() && !heap().status.survives_losses;
    if (is_quiet) return given_up || network_engine()->is_quiet(each.mark);
    if (!each.group) return true;
    if (!given_up) {  // with a lost PE the request may never complete
        if (each.group->pending) return false;
        if (each.puts() && (finished >= asked || !network_engine()->complete(each.mark))) return false;
    }
    const Request &request = each.request;
    if (each.group->lost) note(LostPe);
    if (request.kind() == AtomicRmw) each.slot->operand = each.group->value;
    if (request.kind() == Get && !each.buffer.empty()) note(copy(each.buffer.data(), reinterpret_cast<char *>(request.operand), each.buffer.size(), false));
    if (each.group->pending) new std::vector<char>(std::move(each.buffer));  // MPI may still use it
    network_engine()->abandon(each.group);
    return true;
}

int Proxy::serve(Request &request, char *far) {
    const size_t bytes = request.bytes();
    char *local = reinterpret_cast<char *>(request.operand);
    switch (request.kind()) {
        case Put: return copy(far, local, bytes, true);
        case Get: return copy(far, local, bytes, false);
        case Store: return move_far(far, &request.operand, bytes);
        case Load: return move_far(reinterpret_cast<char *>(&request.operand), far, bytes);
        case AtomicRmw:
        case Update: return atomic(far, request);
        default: return -1;
    }
}

// Orders what late_delivery.hpp holds.
void Proxy::order_held(Begun &each) {
    if (!late) return;
    switch (each.slot->kind()) {
        case Fence: return late->fence();
        case Flush: return late->flush();
        case StoresDirectly: return late->store_directly();
        case MarkHeld: each.slot->operand = static_cast<int64_t>(late->mark()); return;
        default: late->complete();
    }
    if (network_engine()) begin_quiet(each);
}

int copy_by_proxy(char *far, char *local, size_t bytes, bool put);

// Gives an operation of a kernel to late_delivery.hpp. False for those with a result, which act at once.
bool Proxy::hold(const Request &request) {
    const size_t bytes = request.bytes();
    char *far = heap().symmetric(static_cast<int>(request.pe), request.offset, bytes, true);
    char *local = reinterpret_cast<char *>(request.operand);
    const auto *operand = reinterpret_cast<const char *>(&request.operand);
    const uint64_t value = static_cast<uint64_t>(request.operand), other = static_cast<uint64_t>(request.other);
    const bool nbi = request.what & NBI;
    std::vector<char> data;
    switch (request.kind()) {
        case Put:
            if (nbi) return late->put_nbi(far, local, bytes, nullptr, &copy_by_proxy, "put_nbi in a kernel"), true;
            data.resize(bytes);
            note(copy(data.data(), local, bytes, true));
            return late->put(far, data.data(), bytes, 0, "put in a kernel"), true;
        case Get:
            if (nbi) return late->get_nbi(local, far, bytes, nullptr, &copy_by_proxy, "get_nbi in a kernel"), true;
            return late->read(far, bytes, "get in a kernel"), false;
        case Store: return late->put(far, operand, bytes, bytes, "p in a kernel"), true;
        case Update: return late->update(far, request.rmw(), request.item(), value, "atomic in a kernel"), true;
        case Signal: return late->signal(far, request.rmw(), request.item(), value, other, "put_signal in a kernel"), true;
        case Load: return late->read(far, bytes, "g in a kernel"), false;
        default: return late->fetch(far, request.rmw()), false;
    }
}

// Model: tests/models/proxy_ring.pml.
int Proxy::move_far(char *to, const void *from, size_t bytes) {
    if (bytes > 16) return -1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // orders earlier stores, also to write-combining device memory
    store_element(to, from, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);  // for the requester: the loaded value may be a flag
    return 0;
}

int Proxy::copy(char *far, char *local, size_t bytes, bool put) {
    Heap &h = heap();
    if (local >= h.base && local < h.base + h.size) {
        char *own = h.mapped[static_cast<size_t>(h.me)] + (local - h.base);
        std::memmove(put ? far : own, put ? own : far, bytes);
        return 0;
    }
    const std::lock_guard<std::mutex> lock(copying);  // held operations are delivered by another thread
    for (size_t done = 0; done < bytes;) {
        const size_t part = std::min(bytes - done, setup.room);
        if (!put) std::memcpy(setup.staging, far + done, part);
        char *to = put ? setup.staging : local + done, *from = put ? local + done : setup.staging;
        if (const int result = setup.append_copy(setup.list, to, from, part, nullptr, 0, nullptr)) return result;
        if (put) std::memcpy(far + done, setup.staging, part);
        done += part;
    }
    return 0;
}

// Model: tests/models/proxy_ring.pml.
int Proxy::atomic(char *far, Request &request) {
    if (request.item() != 4 && request.item() != 8) return -1;
    const uint64_t value = static_cast<uint64_t>(request.operand), cond = static_cast<uint64_t>(request.other);
    uint64_t old = 0;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // as in move_far
    update_element(request.rmw(), far, request.item(), value, cond, &old);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    request.operand = static_cast<int64_t>(old);
    return 0;
}

int copy_by_proxy(char *far, char *local, size_t bytes, bool put) { return proxy ? proxy->copy(far, local, bytes, put) : 0; }

}  // namespace

void start_proxy(const ProxySetup &setup) {
    const Heap &h = heap();
    proxy = std::make_unique<Proxy>();
    proxy->header = reinterpret_cast<Header *>(setup.ring);
    proxy->ring = reinterpret_cast<Request *>(setup.ring) + 1;
    proxy->slots = static_cast<int64_t>(setup.slots);
    proxy->tickets = reinterpret_cast<const int64_t *>(h.mapped[static_cast<size_t>(h.me)] + setup.tickets);
    proxy->setup = setup;
    if (NetworkEngine *e = network_engine())
        e->also = [] {
            const std::unique_lock<std::mutex> lock(proxy_mutex, std::try_to_lock);
            return lock && proxy && proxy->step();
        };
    else proxy->thread = std::thread([] { proxy->run(); });
}

void stop_proxy() {
    if (!proxy) return;
    proxy->stop = true;
    if (proxy->thread.joinable()) proxy->thread.join();
    if (NetworkEngine *e = network_engine()) e->also = nullptr;
    const std::lock_guard<std::mutex> lock(proxy_mutex);
    proxy.reset();
}

Outcome drain_proxy() {
    if (!proxy) return Satisfied;
    const int64_t wanted = load(proxy->tickets);
    const auto done = [=] { return load(&proxy->header->completed) >= wanted; };
    if (done()) return Satisfied;
    if (NetworkEngine *e = network_engine()) e->mark();  // the acknowledgements of the host's puts come meanwhile
    return poll(done, [] { return device_status() != 0; }, -1.0);  // a failed kernel may leave an incomplete request
}

// Model: tests/models/host_puts.pml.
void host_has_put() {
    if (proxy && !load(&proxy->header->host_puts)) __atomic_exchange_n(&proxy->header->host_puts, 1, __ATOMIC_RELEASE);
}

uint64_t proxy_served() { return proxy ? static_cast<uint64_t>(load(&proxy->header->completed)) : 0; }

bool proxy_failed() { return proxy && proxy->problem.load(); }

int proxy_problem() { return proxy ? proxy->problem.exchange(0) : 0; }

}  // namespace ishmem
