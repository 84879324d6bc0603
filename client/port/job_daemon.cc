// SPDX-License-Identifier: Apache-2.0

#include "client/port/job_daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/port/error.h"
#include "client/port/file_descriptor.h"

namespace copse::client {
namespace {

constexpr char kStarter[] = "COPSE_RUN_STARTER";
constexpr char kFlag[] = "--node-daemon";
// More than the starter takes, whatever happens there.
constexpr int kPatienceMs = 30000;

// Starts the program with its standard output and error in `said`. Returns its process id, or 0 and sets errno.
pid_t Spawn(const char* program, std::string socket, int said) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, said, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, said, STDERR_FILENO);
  std::string name = program, flag = kFlag;
  char* const words[] = {name.data(), flag.data(), socket.data(), nullptr};
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program, &actions, nullptr, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  errno = error;
  return error == 0 ? pid : 0;
}

// Reads until the other end is closed. Returns false if that takes too long.
bool ReadAll(int from, std::string* text) {
  for (;;) {
    pollfd readable = {from, POLLIN, 0};
    const int ready = poll(&readable, 1, kPatienceMs);
    if (ready == 0) return false;
    char part[1024];
    const ssize_t bytes = ready > 0 ? read(from, part, sizeof(part)) : -1;
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return true;
    text->append(part, static_cast<size_t>(bytes));
  }
}

}  // namespace

bool HasJobDaemon() {
  const char* program = getenv(kStarter);
  return program != nullptr && *program != '\0';
}

copse_status_t StartJobDaemon(const std::string& socket) {
  const char* program = getenv(kStarter);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Fail(COPSE_ERR_NO_DAEMON, "no pipe can be made (error=%d)", errno);
  const FileDescriptor said(ends[0]);
  FileDescriptor to(ends[1]);
  const pid_t pid = Spawn(program, socket, to.get());
  to = FileDescriptor();
  if (pid == 0) return Fail(COPSE_ERR_NO_DAEMON, "the job's daemon: %s (program=%s)", strerror(errno), program);
  std::string why;
  const bool ended = ReadAll(said.get(), &why);
  if (!ended) kill(pid, SIGKILL);
  int code = 0;
  while (waitpid(pid, &code, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return Fail(COPSE_ERR_NO_DAEMON, "the job's daemon is not ready in time (limit_ms=%d)", kPatienceMs);
  while (!why.empty() && why.back() == '\n') why.pop_back();
  // The program says nothing if all is well; what its exit code was, the job may have asked the kernel not to tell.
  return why.empty() ? COPSE_OK : Fail(COPSE_ERR_NO_DAEMON, "the job's daemon: %s", why.c_str());
}

}  // namespace copse::client
