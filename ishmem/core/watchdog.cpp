// Ends a process whose interpreter does not answer, because a kernel or other compiled code holds it: after SIGINT, and
// after ISHMEM_TIMEOUT. A thread without the interpreter's lock watches; ishmem.common.status_board, a process of its
// own, prints where the PEs are. Under ishmem run the supervisor does both.
#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace ishmem {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr Seconds STEP{0.1};
constexpr Seconds ANSWER{1.0};  // for Python to handle SIGINT

// What ends the process: its exit status, and seconds from the report to the end. See ishmem/common/job_end.py.
struct Cause {
    int status;
    double patience;
};

std::atomic<int> interrupts{0}, answers{0};
struct sigaction before;

void on_interrupt(int number, siginfo_t *info, void *context);

// Catches SIGINT in front of the handler that is installed.
void catch_interrupts() {
    struct sigaction now, action;
    sigaction(SIGINT, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) && now.sa_sigaction == &on_interrupt) return;
    action = before = now;
    action.sa_sigaction = &on_interrupt;
    action.sa_flags = (before.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
    sigaction(SIGINT, &action, nullptr);
}

void on_interrupt(int number, siginfo_t *info, void *context) {
    interrupts.fetch_add(1);
    if (before.sa_flags & SA_SIGINFO) before.sa_sigaction(number, info, context);
    else before.sa_handler(number);
    catch_interrupts();  // that of LLVM, in an OpenCL runtime, installs the handler that was there before it
}

class Watchdog {
  public:
    Watchdog(std::vector<std::string> command, double limit, Cause hang, Cause interrupt)
        : command_(std::move(command)), limit_(limit), hang_(hang), interrupt_(interrupt) {
        beat();
        struct sigaction now;
        sigaction(SIGINT, nullptr, &now);
        catches_ = now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
        if (catches_) catch_interrupts();
        thread_ = std::thread([this] { run(); });
    }

    ~Watchdog() {
        struct sigaction now;
        if (catches_ && sigaction(SIGINT, nullptr, &now) == 0 && now.sa_sigaction == &on_interrupt) sigaction(SIGINT, &before, nullptr);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            stopped_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void beat() { beat_ = Clock::now().time_since_epoch().count(); }

  private:
    // Returns false when the watchdog is being stopped.
    template <class Done>
    bool sleep(Seconds duration, Done done) {
        const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(duration);
        std::unique_lock<std::mutex> lock(mutex_);
        while (!stopped_ && !done() && Clock::now() < end) changed_.wait_for(lock, STEP);
        return !stopped_;
    }

    void run() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's threads
        for (int seen = interrupts; sleep(STEP, [] { return false; });) {
            if (interrupts != seen) interrupted();
            seen = interrupts;
            if (limit_ > 0 && silence() > limit_) hang();
        }
    }

    double silence() const {
        return Seconds(Clock::now() - Clock::time_point(Clock::duration(beat_.load()))).count();
    }

    // Python's main thread handles signals and pending calls at the same places.
    void interrupted() {
        const int asked = interrupts;
        Py_AddPendingCall([](void *) { answers = interrupts.load(); return 0; }, nullptr);
        const auto answered = [asked] { return answers >= asked; };
        if (!sleep(ANSWER, answered) || answered()) return;
        report("interrupted");
        const auto again = [&] { return answered() || interrupts > asked; };
        if (!sleep(Seconds(interrupt_.patience), again) || answered()) return;
        _exit(interrupt_.status);
    }

    void hang() {
        report(std::to_string(limit_));
        if (sleep(Seconds(hang_.patience), [] { return false; })) _exit(hang_.status);
    }

    void report(const std::string &why) {
        std::vector<std::string> words = command_;
        words.push_back(why);
        std::vector<char *> arguments;
        for (std::string &word : words) arguments.push_back(word.data());
        arguments.push_back(nullptr);
        pid_t pid;
        if (posix_spawn(&pid, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0) waitpid(pid, nullptr, 0);
    }

    std::vector<std::string> command_;
    double limit_;
    Cause hang_, interrupt_;
    bool catches_, stopped_ = false;
    std::atomic<Clock::rep> beat_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::thread thread_;
};

Watchdog *watchdog = nullptr;

// Installs a signal handler that ends the process with the status in the signal's value, even while the GIL is held.
void exit_on(int number) {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t *info, void *) {
        if (info->si_code == SI_QUEUE) _exit(info->si_value.sival_int);
    };
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(number, &action, nullptr);
}

}  // namespace

void bind_watchdog(nb::module_ &m) {
    using Pair = std::pair<int, double>;
    m.def("watch", [](std::vector<std::string> command, double limit, Pair hang, Pair interrupt) {
        const auto cause = [](Pair each) { return Cause{each.first, each.second}; };
        if (!watchdog) watchdog = new Watchdog(std::move(command), limit, cause(hang), cause(interrupt));
    });
    m.def("unwatch", [] {
        nb::gil_scoped_release release;
        delete std::exchange(watchdog, nullptr);
    });
    m.def("exit_on", &exit_on);
    m.def("beat", [] { if (watchdog) watchdog->beat(); });
}

}  // namespace ishmem
