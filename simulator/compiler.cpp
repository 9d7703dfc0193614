// The driver's side of the compiler process. The process is started for the first module that is not in the cache,
// compiles one module at a time, and ends when this process ends or after a minute without requests.
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <mutex>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile.hpp"
#include "driver.hpp"
#include "pipe.hpp"
#include "serial.hpp"
#include "settings.hpp"

extern char **environ;

namespace simulator {

namespace {

// The path of the compiler program, which is installed beside this library.
std::string program() {
  Dl_info info;
  if (!dladdr((void *)compileElsewhere, &info) || !info.dli_fname) return "";
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1) + "ze_simulator_compiler";
}

// The environment without LD_PRELOAD: the compiler must not load libraries preloaded into this process.
std::vector<char *> environment() {
  std::vector<char *> kept;
  for (char **entry = environ; *entry; ++entry)
    if (strncmp(*entry, "LD_PRELOAD=", 11) != 0) kept.push_back(*entry);
  kept.push_back(nullptr);
  return kept;
}

class CompilerProcess {
 public:
  Compiled compile(const std::string &request);

 private:
  std::string start();
  int spawn(int socket);
  void stop();
  bool ask(const std::string &request, Compiled &answer);
  std::string lastWords() const;

  int socket_ = -1, errors_ = -1;
  pid_t owner_ = 0;
  bool taken_ = false;  // whether the process has acknowledged the request
};

int CompilerProcess::spawn(int socket) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors_, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  const std::string path = program(), limit = std::to_string(settings().compileLimit);
  char *arguments[] = {(char *)path.c_str(), (char *)settings().opencl.c_str(), (char *)limit.c_str(), nullptr};
  pid_t child = 0;
  int error = posix_spawn(&child, path.c_str(), &actions, &attributes, arguments, environment().data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  // The child forks and exits at once. The compiler is thus not a child of this process, whose waits do not see it.
  while (!error && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return error;
}

// Starts the process unless it is running. Returns an error message, or an empty string.
std::string CompilerProcess::start() {
  pollfd ended{socket_, POLLIN, 0};
  if (socket_ >= 0 && (owner_ != getpid() || poll(&ended, 1, 0) != 0)) stop();
  if (socket_ >= 0) return "";
  int sockets[2];
  errors_ = memfd_create("ze_simulator_compiler", MFD_CLOEXEC);
  if (errors_ < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets)) {
    const std::string reason = strerror(errno);
    stop();
    return reason;
  }
  int error = spawn(sockets[1]);
  close(sockets[1]);
  socket_ = sockets[0];
  owner_ = getpid();
  if (error) stop();
  return error ? program() + ": " + strerror(error) : "";
}

void CompilerProcess::stop() {
  if (socket_ >= 0) close(socket_);
  if (errors_ >= 0) close(errors_);
  socket_ = errors_ = -1;
}

// The last 2 KiB of the process's stderr.
std::string CompilerProcess::lastWords() const {
  char text[2048];
  off_t size = lseek(errors_, 0, SEEK_END), from = size > (off_t)sizeof text ? size - (off_t)sizeof text : 0;
  ssize_t got = pread(errors_, text, sizeof text, from);
  return got > 0 ? std::string(text, (size_t)got) : "";
}

bool CompilerProcess::ask(const std::string &request, Compiled &answer) {
  const uint64_t grace = 3;  // seconds after the limit by which the process has ended itself
  const uint64_t end = nanoseconds() + (settings().compileLimit + grace) * 1000000000;
  auto left = [end] {
    uint64_t now = nanoseconds();
    return now < end ? (int)std::min<uint64_t>((end - now) / 1000000 + 1, INT32_MAX) : 0;
  };
  char byte;
  std::string reply;
  uint64_t error = 0;
  size_t at = 0;
  taken_ = sendMessage(socket_, request) && receiveAll(socket_, &byte, 1, left);
  if (!taken_ || !receiveMessage(socket_, reply, left)) return false;
  if (!take(reply, at, error) || !take(reply, at, answer.log) || !take(reply, at, answer.binary)) return false;
  answer.error = (int32_t)error;
  return true;
}

Compiled CompilerProcess::compile(const std::string &request) {
  Compiled answer;
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::string problem = start();
    if (!problem.empty()) return {compilerEnded, "the compiler of the simulator does not start: " + problem, ""};
    const bool answered = ask(request, answer);
    if (answered && answer.error <= 0) return answer;
    std::string how = answered ? answer.log : "it ended";
    answer = {compilerEnded, "the compiler of the OpenCL CPU runtime failed on this module: " + how, ""};
    if (errors_ >= 0 && !lastWords().empty()) answer.log += "\nit wrote: " + lastWords();
    stop();
    if (taken_) break;  // else the process had reached its idle limit: start a new one
  }
  return answer;
}

}  // namespace

Compiled compileElsewhere(const std::vector<ModuleInput> &inputs) {
  static auto *mutex = new std::mutex;  // never destroyed: threads may compile while the process exits
  static auto *compiler = new CompilerProcess;
  std::lock_guard<std::mutex> lock(*mutex);
  return compiler->compile(writeNative(inputs));
}

}  // namespace simulator
