// Copies what a kernel of this PE waits for to the status board, when another process asks by a signal: the interpreter
// may not run, since a kernel's launch holds it. See ishmem/runtime/status_board.py.
#include <nanobind/nanobind.h>

#include <signal.h>

#include <atomic>
#include <cstring>

#include "heap.hpp"

namespace nb = nanobind;

namespace ishmem {
namespace {

std::atomic<const char *> record{nullptr};
char *board = nullptr;
size_t record_bytes = 0;

void answer(int) {
    if (const char *from = record.load()) std::memcpy(board, from, record_bytes);
}

}  // namespace

void bind_answer(nb::module_ &m) {
    m.def("answer_on", [](int number) {
        struct sigaction action = {};
        action.sa_handler = &answer;
        action.sa_flags = SA_RESTART | SA_ONSTACK;
        sigaction(number, &action, nullptr);
    });
    m.def("answer_with", [](size_t offset, uintptr_t to, size_t bytes) {
        board = reinterpret_cast<char *>(to);
        record_bytes = bytes;
        record = heap().mapped[static_cast<size_t>(heap().me)] + offset;
    });
    m.def("answer_no_more", [] { record = nullptr; });
}

}  // namespace ishmem
