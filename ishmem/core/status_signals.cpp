// Answers by signal handlers when another process asks where this PE is. See ishmem/common/status_board.py.
#include <nanobind/nanobind.h>

#include <link.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "heap.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

std::atomic<const char *> record{nullptr};
char *board = nullptr;
size_t record_bytes = 0;
const char *(*long_kernel)() = nullptr;  // of the simulated driver
char *reason = nullptr;
size_t reason_bytes = 0;
std::atomic<int> wake{-1};  // pipe to the thread that answers

struct Range {
    uintptr_t begin, end;
    bool contains(uintptr_t address) const { return begin <= address && address < end; }
};

Range interpreter = {};
struct sigaction dump = {};  // writes Python's traceback
int trace = -1;
off_t trace_place = 0;

void install(int number, void (*handler)(int, siginfo_t *, void *)) {
    struct sigaction action = {};
    action.sa_sigaction = handler;
    action.sa_flags = SA_RESTART | SA_ONSTACK | SA_SIGINFO;
    sigfillset(&action.sa_mask);
    if (sigaction(number, &action, nullptr)) throw std::runtime_error("sigaction failed");
}

// Copies what a kernel of this PE waits for, and why it may do so for ever; wakes the thread that tells where Python is.
void answer(int, siginfo_t *, void *) {
    const int before = errno;
    if (const char *from = record.load()) {
        std::memcpy(board, from, record_bytes);
        if (long_kernel) std::strncpy(reason, long_kernel(), reason_bytes - 1);
    }
    (void)!write(wake, "", 1);
    errno = before;
}

// Writes the traceback of an interpreter that is held by other code. Its frames are not valid while it runs itself.
void insist(int number, siginfo_t *, void *context) {
    const auto at = static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP];
    if (interpreter.contains(static_cast<uintptr_t>(at))) return;
    const int before = errno;
    lseek(trace, trace_place, SEEK_SET);
    dump.sa_handler(number);
    errno = before;
}

// Returns the code of the library, or of the executable, that contains an address.
Range code_around(uintptr_t address) {
    Range found = {address, 0};
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *to) {
            auto &range = *static_cast<Range *>(to);
            for (int k = 0; k < info->dlpi_phnum; ++k) {
                const auto &header = info->dlpi_phdr[k];
                const uintptr_t begin = info->dlpi_addr + header.p_vaddr;
                const Range code = {begin, begin + header.p_memsz};
                if (header.p_type == PT_LOAD && (header.p_flags & PF_X) && code.contains(range.begin)) range = code;
                if (range.end) return 1;
            }
            return 0;
        },
        &found);
    return found;
}

}  // namespace

void bind_status_signals(nb::module_ &m) {
    m.def("answer_on", [](int number, int to) {
        const int last = wake.exchange(to);
        if (last >= 0) close(last);
        install(number, &answer);
    });
    m.def("ignore_unless_handled", [](int number) {
        struct sigaction installed;
        if (sigaction(number, nullptr, &installed)) throw std::runtime_error("sigaction failed");
        if (installed.sa_handler == SIG_DFL && signal(number, SIG_IGN) == SIG_ERR) throw std::runtime_error("signal failed");
    });
    m.def("insist_on", [](int number, int to, off_t place) {
        trace = to;
        trace_place = place;
        interpreter = code_around(reinterpret_cast<uintptr_t>(&PyEval_EvalCode));
        struct sigaction installed;
        if (sigaction(number, nullptr, &installed)) throw std::runtime_error("sigaction failed");
        if (installed.sa_flags & SA_SIGINFO) return;  // `insist`, of an earlier call
        dump = installed;
        install(number, &insist);
    });
    m.def("answer_with", [](size_t offset, uintptr_t to, size_t bytes) {
        board = reinterpret_cast<char *>(to);
        record_bytes = bytes;
        record = heap().mapped[static_cast<size_t>(heap().me)] + offset;
    });
    m.def("answer_with_reason", [](uintptr_t function, uintptr_t to, size_t bytes) {
        reason = reinterpret_cast<char *>(to);
        reason_bytes = bytes;
        long_kernel = reinterpret_cast<const char *(*)()>(function);
    });
    m.def("answer_no_more", [] { record = nullptr; });
}

}  // namespace ishmem
