// Tells this PE's kernels of lost PEs, where a job goes on: a thread without the interpreter's lock does, since a call
// that waits behind a kernel may hold that lock, and the kernel may wait for the lost PE. See ishmem/runtime/losses.py.
#include <nanobind/nanobind.h>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

#include "heap.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

constexpr std::chrono::milliseconds STEP{10};

class Teller {
  public:
    Teller(const int64_t *counted, int64_t *word, int64_t skipped) : counted_(counted), word_(word), skipped_(skipped) {
        thread_ = std::thread([this] { run(); });
    }

    ~Teller() {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void heard(int64_t losses, bool news) {
        std::lock_guard<std::mutex> lock(mutex_);
        heard_ = losses;
        news_ = news;
        tell();
    }

  private:
    void run() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's threads
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopped_) {
            tell();
            changed_.wait_for(lock, STEP);
        }
    }

    void tell() {
        const bool lost = news_ || __atomic_load_n(counted_, __ATOMIC_ACQUIRE) > heard_;
        __atomic_store_n(word_, lost ? skipped_ : 0, __ATOMIC_RELEASE);
    }

    const int64_t *counted_;
    int64_t *word_, skipped_, heard_ = 0;
    bool news_ = false, stopped_ = false;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread thread_;
};

Teller *teller = nullptr;

}  // namespace

void bind_losses(nb::module_ &m) {
    m.def("go_on", [](uintptr_t counted, size_t offset, int64_t skipped) {
        heap().status.goes_on = true;
        char *own = heap().mapped[static_cast<size_t>(heap().me)];
        teller = new Teller(reinterpret_cast<const int64_t *>(counted), reinterpret_cast<int64_t *>(own + offset), skipped);
    });
    m.def("heard_of_losses", [](int64_t losses, bool news) { if (teller) teller->heard(losses, news); });
    m.def("tell_no_more", [] {
        nb::gil_scoped_release release;
        delete std::exchange(teller, nullptr);
    });
}

}  // namespace ishmem
