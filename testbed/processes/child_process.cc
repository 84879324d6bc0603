// SPDX-License-Identifier: Apache-2.0
#include "testbed/processes/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::procs {
namespace {

constexpr int kPipeBytes = 1 << 20;  // holds outcomes that are not read for a while
constexpr size_t kLastLineBytesMax = 400;

absl::StatusOr<UniqueFd> Open(const std::string& path, int flags) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0640);
  if (fd < 0) return absl::ErrnoToStatus(errno, path);
  return UniqueFd(fd);
}

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "pipe");
  fcntl(ends[1], F_SETPIPE_SZ, kPipeBytes);  // as far as the system lets us
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::vector<std::string> Environment(const std::map<std::string, std::string>& added) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (absl::StartsWith(text, "COPSE") || added.contains(text.substr(0, text.find('=')))) continue;
    result.push_back(text);
  }
  for (const auto& [name, value] : added) result.push_back(absl::StrCat(name, "=", value));
  return result;
}

std::vector<char*> Pointers(std::vector<std::string>* texts) {
  std::vector<char*> result;
  for (std::string& text : *texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void AwaitReadable(int fd, absl::Duration timeout) {
  pollfd event = {.fd = fd, .events = POLLIN, .revents = 0};
  poll(&event, 1, static_cast<int>(absl::ToInt64Milliseconds(std::min(timeout, absl::Hours(1))) + 1));
}

// The new process's code; only async-signal-safe calls, as the parent may have threads. Returns the errno of the
// failed call.
int Become(char** arguments, char** environment, int in, int out, int err, pid_t parent) {
  setsid();
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != parent) _exit(0);  // it died before PR_SET_PDEATHSIG was set
  for (int number = 1; number < SIGRTMIN; ++number) {
    if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  if ((in >= 0 && dup2(in, 0) < 0) || (out >= 0 && dup2(out, 1) < 0) || (err >= 0 && dup2(err, 2) < 0)) return errno;
  close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
  execve(arguments[0], arguments, environment);
  return errno;
}

}  // namespace

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const ChildOptions& options) {
  std::vector<std::string> argument_texts = options.arguments;
  std::vector<std::string> environment_texts = Environment(options.environment);
  const std::vector<char*> arguments = Pointers(&argument_texts);
  const std::vector<char*> environment = Pointers(&environment_texts);

  Pipe in, out;
  UniqueFd log;
  if (options.stdin_pipe) {
    ASSIGN_OR_RETURN(in, MakePipe());
  } else {
    ASSIGN_OR_RETURN(in.read, Open(options.stdin_file, O_RDONLY));
  }
  if (options.stdout_pipe) {
    ASSIGN_OR_RETURN(out, MakePipe());
    fcntl(out.read.get(), F_SETFL, O_NONBLOCK);
  }
  if (!options.log_file.empty()) {
    ASSIGN_OR_RETURN(log, Open(options.log_file, O_WRONLY | O_CREAT | O_APPEND));
  }
  // The new process reports on this pipe why exec failed; success closes it.
  ASSIGN_OR_RETURN(Pipe verdict, MakePipe());

  const pid_t parent = getpid();
  const pid_t pid = _Fork();  // skips fork handlers: gRPC's need that no call is in flight
  if (pid < 0) return absl::ErrnoToStatus(errno, "fork");
  if (pid == 0) {
    const int error = Become(const_cast<char**>(arguments.data()), const_cast<char**>(environment.data()),
                             in.read.get(), options.stdout_pipe ? out.write.get() : log.get(), log.get(), parent);
    (void)!write(verdict.write.get(), &error, sizeof(error));
    _exit(127);
  }
  const auto pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  CHECK(pidfd >= 0);
  verdict.write.reset();
  int error = 0;
  ssize_t got;
  do {
    got = read(verdict.read.get(), &error, sizeof(error));
  } while (got < 0 && errno == EINTR);
  std::unique_ptr<ChildProcess> child(
      new ChildProcess(pid, UniqueFd(pidfd), std::move(in.write), std::move(out.read), options.log_file));
  if (got == sizeof(error)) return absl::ErrnoToStatus(error, argument_texts[0]);
  return child;
}

ChildProcess::ChildProcess(pid_t pid, UniqueFd pidfd, UniqueFd input, UniqueFd output, std::string log_file)
    : pid_(pid),
      pidfd_(std::move(pidfd)),
      input_(std::move(input)),
      output_(std::move(output)),
      log_file_(std::move(log_file)) {}

ChildProcess::~ChildProcess() {
  Signal(SIGKILL);
  if (!wait_status_) waitpid(pid_, nullptr, 0);
}

void ChildProcess::Signal(int number) {
  if (!wait_status_) syscall(SYS_pidfd_send_signal, pidfd_.get(), number, nullptr, 0);
}

bool ChildProcess::Ended() {
  int status = 0;
  if (!wait_status_ && waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_.has_value();
}

absl::Status ChildProcess::AwaitEnd(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  while (!Ended()) {
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", pid_, " has not ended (timeout=", absl::FormatDuration(timeout), ")"));
    }
    AwaitReadable(pidfd_.get(), left);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ChildProcess::ReadLine(absl::Duration timeout) {
  const absl::Time deadline = absl::Now() + timeout;
  for (;;) {
    const size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    char buffer[4096];
    const ssize_t got = read(output_.get(), buffer, sizeof(buffer));
    if (got == 0) return absl::OutOfRangeError("the output has ended");
    if (got > 0) {
      unread_.append(buffer, got);
      continue;
    }
    const absl::Duration left = deadline - absl::Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", pid_, " has written no line (timeout=", absl::FormatDuration(timeout), ")"));
    }
    AwaitReadable(output_.get(), left);
  }
}

absl::Status ChildProcess::ReadToEnd(absl::Duration timeout, std::vector<std::string>* lines) {
  const absl::Time deadline = absl::Now() + timeout;
  absl::StatusOr<std::string> line;
  while ((line = ReadLine(deadline - absl::Now())).ok()) lines->push_back(*std::move(line));
  return AwaitEnd(deadline - absl::Now());
}

absl::Status ChildProcess::Write(std::string_view text) {
  CHECK(input_.get() >= 0);
  // A reader that has gone is an error here, not a signal.
  sigset_t pipe, before;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  int error = 0;
  while (!text.empty() && error == 0) {
    const ssize_t written = write(input_.get(), text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (error == EPIPE && sigismember(&before, SIGPIPE) == 0) {
    const timespec none = {};
    sigtimedwait(&pipe, nullptr, &none);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error == EPIPE) return absl::UnavailableError(absl::StrCat("process ", pid_, " does not read its input"));
  if (error != 0) return absl::ErrnoToStatus(error, absl::StrCat("process ", pid_, ": write"));
  return absl::OkStatus();
}

int ChildProcess::exit_code() const {
  CHECK(wait_status_.has_value());
  return WIFEXITED(*wait_status_) ? WEXITSTATUS(*wait_status_) : 128 + WTERMSIG(*wait_status_);
}

std::string ChildProcess::DescribeEnd() const {
  if (!wait_status_) return "running";
  return WIFEXITED(*wait_status_) ? absl::StrCat("exit code ", WEXITSTATUS(*wait_status_))
                                  : absl::StrCat("signal ", WTERMSIG(*wait_status_));
}

std::string ChildProcess::DescribeFailure() const {
  std::ifstream log(log_file_);
  std::string last;
  for (std::string line; std::getline(log, line);) {
    if (!line.empty()) last = line.substr(0, kLastLineBytesMax);
  }
  return absl::StrCat(DescribeEnd(), last.empty() ? "" : ": ", last);
}

}  // namespace copse::procs
