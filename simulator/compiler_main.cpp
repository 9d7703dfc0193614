// The compiler process: `ze_simulator_compiler RUNTIME SECONDS`, with the driver's socket as stdin. It reports a crash
// of the compiler or an exceeded time limit to the driver as an error.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

#include "compile.hpp"
#include "pipe.hpp"
#include "serial.hpp"

using namespace simulator;

static const int peer = 0;       // the socket
static const int idle = 60 * 1000;  // milliseconds without requests after which the process ends
static unsigned limit = 600;       // seconds per module

static int untilIdle() { return idle; }

// The message that a signal handler sends. It is prepared in advance, because a handler must not allocate memory.
struct LastWords {
  char text[256];
  size_t size;
};
static LastWords lastWords[32];

static std::string answerOf(const Compiled &result) {
  std::string answer;
  put(answer, (uint64_t)(int64_t)result.error);
  put(answer, result.log);
  put(answer, result.binary);
  return answer;
}

static void answerAndEnd(int signal) {
  const LastWords &words = lastWords[signal];
  sendAll(peer, words.text, words.size);
  _exit(1);
}

static void handle(int signal, const std::string &how) {
  std::string answer = answerOf({compilerEnded, how, ""}), message;
  put(message, answer);
  LastWords &words = lastWords[signal];
  words.size = std::min(message.size(), sizeof words.text);
  memcpy(words.text, message.data(), words.size);
  struct sigaction action{};
  action.sa_handler = answerAndEnd;
  action.sa_flags = SA_ONSTACK;
  sigaction(signal, &action, nullptr);
}

static void handleSignals() {
  static char memory[64 << 10];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  for (int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE})
    handle(signal, std::string("it crashed (") + strsignal(signal) + ")");
  handle(SIGALRM, "it took longer than the " + std::to_string(limit) +
                      " seconds that ISHMEM_SIM_COMPILE_LIMIT allows");
}

// Ends this process when the driver's process ends, even during a compilation.
static void endWithDriver() {
  pollfd end{peer, POLLRDHUP, 0};
  while (poll(&end, 1, -1) <= 0) {
  }
  _exit(0);
}

static Compiled answer(const std::string &request) {
  std::vector<ModuleInput> inputs;
  if (!readNative(request, inputs)) return {compilerEnded, "the request was damaged", ""};
  if (!openCl()) return {compilerEnded, "there is no OpenCL CPU runtime", ""};
  handleSignals();  // after the runtime has installed its own handlers
  return compileHere(inputs);
}

static void serve() {
  for (std::string request; receiveMessage(peer, request, untilIdle);) {
    if (!sendAll(peer, "t", 1)) return;
    alarm(limit);
    Compiled result = answer(request);
    alarm(0);
    if (!sendMessage(peer, answerOf(result))) return;
  }
}

int main(int count, char **arguments) {
  if (count != 3) return 2;
  if (fork() != 0) _exit(0);
  signal(SIGINT, SIG_IGN);  // Ctrl-C is for the application
  syscall(SYS_close_range, 3u, ~0u, 0u);
  setenv("ISHMEM_SIM_OPENCL", arguments[1], 1);
  limit = (unsigned)strtoul(arguments[2], nullptr, 10);
  std::thread(endWithDriver).detach();
  serve();
  _exit(0);
}
