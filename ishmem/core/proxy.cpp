#include "proxy.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "polling.hpp"

namespace ishmem {
namespace {

enum Kind { Put, Get, Store, Load, AtomicRmw };  // as in kernels/proxy.py

struct Request {
    int64_t turn;    // the lap that may write its request here
    int64_t posted;  // the lap whose request is complete, counted from 1
    int64_t what;    // kind, rmw << 8, bytes of an element << 16
    int64_t pe, offset;
    int64_t operand;  // an address of this PE, or a value; then the result
    int64_t other;    // bytes, or the condition, or the rest of a value of 16 bytes
    int64_t unused;

    Kind kind() const { return static_cast<Kind>(what & 0xff); }
    int rmw() const { return static_cast<int>(what >> 8 & 0xff); }
    size_t item() const { return static_cast<size_t>(what >> 16 & 0xff); }
    size_t bytes() const { return kind() <= Get ? static_cast<size_t>(other) : item(); }
};
static_assert(sizeof(Request) == 64);

struct Proxy {
    std::thread thread;
    std::atomic<bool> stop{false};
    int64_t *completed = nullptr;  // requests, counted in order
    Request *ring = nullptr;
    int64_t slots = 0;
    const int64_t *tickets = nullptr;  // requests that kernels have begun
    ProxyDevice device{};
    std::vector<int64_t *> locks;
    std::atomic<int> problem{0};

    void run();
    int serve(Request &request);
    int move_far(char *to, const void *from, size_t bytes);
    int copy(char *far, char *local, size_t bytes, bool put);
    int atomic(char *far, Request &request);
    bool lock(int64_t *lock);
};

std::unique_ptr<Proxy> proxy;

template <class T>
T load(const T *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }
template <class T>
void store(T *at, T value) { __atomic_store_n(at, value, __ATOMIC_RELEASE); }

// Polls before the thread sleeps between them, and microseconds. It sleeps rather than yields: on the simulator kernels
// that wait spin on the same cores, and the scheduler puts who wakes up before who spins, but who yields behind.
constexpr unsigned BUSY = 1000, SLEEP = 20;

// Model: tests/models/proxy_ring.pml.
void Proxy::run() {
    unsigned idle = 0;
    for (int64_t next = 0; !stop.load(std::memory_order_relaxed);) {
        Request &request = ring[next % slots];
        const int64_t lap = next / slots + 1;
        if (load(&request.posted) != lap) {
            if (++idle > BUSY) usleep(SLEEP);
            continue;
        }
        idle = 0;
        const bool fetches = request.kind() >= Load;
        int none = 0;
        if (const int result = serve(request)) problem.compare_exchange_strong(none, result);
        store(completed, ++next);
        if (!fetches) store(&request.turn, lap);  // the others are given up by who asked, who has to read the result
    }
}

int Proxy::serve(Request &request) {
    Heap &h = heap();
    const size_t bytes = request.bytes(), offset = static_cast<size_t>(request.offset);
    if (request.pe < 0 || request.pe >= h.n_pes || offset > h.size || bytes > h.size - offset) return -1;
    char *far = h.mapped[static_cast<size_t>(request.pe)] + offset;
    char *local = reinterpret_cast<char *>(request.operand);
    switch (request.kind()) {
        case Put: return copy(far, local, bytes, true);
        case Get: return copy(far, local, bytes, false);
        case Store: return move_far(far, &request.operand, bytes);
        case Load: return move_far(reinterpret_cast<char *>(&request.operand), far, bytes);
        case AtomicRmw: return atomic(far, request);
    }
    return -1;
}

// Model: tests/models/proxy_ring.pml.
int Proxy::move_far(char *to, const void *from, size_t bytes) {
    if (bytes > 16) return -1;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // what was served before; memory of a card may be write-combining
    store_element(to, from, bytes);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);  // for who asked, who may see a flag in it
    return 0;
}

int Proxy::copy(char *far, char *local, size_t bytes, bool put) {
    Heap &h = heap();
    if (local >= h.base && local < h.base + h.size) {
        char *own = h.mapped[static_cast<size_t>(h.me)] + (local - h.base);
        std::memmove(put ? far : own, put ? own : far, bytes);
        return 0;
    }
    for (size_t done = 0; done < bytes;) {
        const size_t part = std::min(bytes - done, device.room);
        if (!put) std::memcpy(device.staging, far + done, part);
        char *to = put ? device.staging : local + done, *from = put ? local + done : device.staging;
        if (const int result = device.append_copy(device.list, to, from, part, nullptr, 0, nullptr)) return result;
        if (put) std::memcpy(far + done, device.staging, part);
        done += part;
    }
    return 0;
}

// Model: tests/models/proxy_ring.pml.
int Proxy::atomic(char *far, Request &request) {
    if (request.item() != 4 && request.item() != 8) return -1;
    int64_t *held = locks[static_cast<size_t>(request.pe)];
    if (held && !lock(held)) return 0;
    const uint64_t value = static_cast<uint64_t>(request.operand), cond = static_cast<uint64_t>(request.other);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);  // as in move_far
    request.operand = static_cast<int64_t>(update_element(request.rmw(), far, request.item(), value, cond));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (held) store(held, int64_t{0});
    return 0;
}

// False when a PE is lost, which may have it, or the job ends.
bool Proxy::lock(int64_t *lock) {
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
        if (stop || heap().lost.load() >= 0) return false;
        usleep(SLEEP);
    }
    return true;
}

}  // namespace

void start_proxy(char *ring, size_t slots, size_t tickets_offset, const ProxyDevice &device, std::vector<int64_t *> locks) {
    const Heap &h = heap();
    proxy = std::make_unique<Proxy>();
    proxy->completed = reinterpret_cast<int64_t *>(ring);
    proxy->ring = reinterpret_cast<Request *>(ring) + 1;
    proxy->slots = static_cast<int64_t>(slots);
    proxy->tickets = reinterpret_cast<const int64_t *>(h.mapped[static_cast<size_t>(h.me)] + tickets_offset);
    proxy->device = device;
    proxy->locks = std::move(locks);
    heap().busy_engines += 1;  // so that the short ways of quiet and barrier_all are not taken
    proxy->thread = std::thread([] { proxy->run(); });
}

void stop_proxy() {
    if (!proxy) return;
    proxy->stop = true;
    proxy->thread.join();
    proxy.reset();
}

Outcome drain_proxy() {
    if (!proxy) return Satisfied;
    const int64_t wanted = load(proxy->tickets);
    const auto done = [=] { return load(proxy->completed) >= wanted; };
    if (done()) return Satisfied;
    return poll(done, [] { return device_status() != 0; }, -1.0);  // a kernel that failed may have left one half written
}

uint64_t proxy_served() { return proxy ? static_cast<uint64_t>(load(proxy->completed)) : 0; }

int proxy_problem() { return proxy ? proxy->problem.exchange(0) : 0; }

}  // namespace ishmem
