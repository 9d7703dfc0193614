// Shows lost PEs to this PE's kernels, where a job goes on: a thread without the interpreter's lock does, since a call
// that waits behind a kernel may hold that lock, and the kernel may wait for the lost PE. See ishmem/runtime/losses.py.
#include <nanobind/nanobind.h>

#include <signal.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "heap.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

constexpr std::chrono::milliseconds STEP{10};

constexpr size_t PEEKED = 64 << 10;

class LossNotifier {
  public:
    // `counted` is the number of losses that the hub of this node has counted; `stream` the connection to a hub elsewhere.
    LossNotifier(const int64_t *counted, int stream, int64_t *word, int64_t skipped)
        : counted_(counted), stream_(stream), word_(word), skipped_(skipped), messages_(stream < 0 ? 0 : PEEKED) {
        thread_ = std::thread([this] { run(); });
    }

    ~LossNotifier() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    // Records that Python has recorded the loss of a PE, -1: of none, and whether `shrink` has still to count a loss.
    void heard(int pe, bool news) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (pe >= 0) heard_.insert(pe);
        unheard_.erase(pe);
        news_ = news;
        tell();
    }

    // Whether there is a loss that Python has not recorded.
    bool leads() {
        std::lock_guard<std::mutex> lock(mutex_);
        return is_ahead();
    }

  private:
    void run() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's threads
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopped_) {
            if (stream_ >= 0) look();
            tell();
            changed_.wait_for(lock, STEP);
        }
    }

    // Looks for losses in the messages of the hub that Python has not read: see ipc/wire.py.
    void look() {
        const ssize_t got = recv(stream_, messages_.data(), PEEKED, MSG_PEEK | MSG_DONTWAIT);
        is_cut_off_ = is_cut_off_ || got == 0;
        const char *at = messages_.data(), *end = at + (got > 0 ? got : 0);
        messages::Header next;
        for (; end - at >= static_cast<ptrdiff_t>(sizeof next); at += sizeof next + next.length) {
            std::memcpy(&next, at, sizeof next);
            if (std::memcmp(next.magic, messages::MAGIC, sizeof next.magic)) return;  // Python has closed it, and it is another file
            const int pe = static_cast<int>(next.pe);
            if (next.kind == messages::Lost && !heard_.count(pe)) unheard_.insert(pe);
        }
    }

    bool is_ahead() const {
        return !unheard_.empty() || __atomic_load_n(counted_, __ATOMIC_ACQUIRE) > static_cast<int64_t>(heard_.size());
    }

    void tell() { __atomic_store_n(word_, news_ || is_cut_off_ || is_ahead() ? skipped_ : 0, __ATOMIC_RELEASE); }

    const int64_t *counted_;
    int stream_;
    int64_t *word_, skipped_;
    std::vector<char> messages_;
    std::set<int> heard_, unheard_;
    bool news_ = false, is_cut_off_ = false, stopped_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread thread_;
};

LossNotifier *teller = nullptr;

}  // namespace

void bind_losses(nb::module_ &m) {
    m.def("go_on", [](uintptr_t counted, int stream, size_t offset, int64_t skipped) {
        heap().status.survives_losses = true;
        char *own = heap().mapped[static_cast<size_t>(heap().me)];
        const auto at = reinterpret_cast<const int64_t *>(counted);
        teller = new LossNotifier(at, stream, reinterpret_cast<int64_t *>(own + offset), skipped);
    });
    m.def("heard_of_loss", [](int pe, bool news) { if (teller) teller->heard(pe, news); });
    m.def("has_unheard_loss", [] { return teller && teller->leads(); });
    m.def("tell_no_more", [] {
        nb::gil_scoped_release release;
        delete std::exchange(teller, nullptr);
    });
}

}  // namespace ishmem
