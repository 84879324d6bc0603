// SPDX-License-Identifier: Apache-2.0
#include "client/run/kept_program.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace copse::run {
namespace {

// After SIGTERM. Clients have ended: there is nothing to drain.
constexpr absl::Duration kEndPatience = absl::Seconds(2);

[[noreturn]] void Become(const std::vector<std::string>& command, const std::string& log, pid_t keeper) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);  // it has ended before
  // Neither what keepers ignore nor what ranks block is for the program.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  cpu_set_t all;
  std::memset(&all, 0xff, sizeof(all));
  sched_setaffinity(0, sizeof(all), &all);
  const UniqueFd to(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  dup2(to.get(), STDERR_FILENO);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execv(words[0], words.data());
  dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
  _exit(127);
}

}  // namespace

UniqueFd PidFd(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int TimeoutMs(absl::Time deadline) {
  return static_cast<int>(
      std::max<int64_t>(0, absl::ToInt64Milliseconds(absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1)))));
}

KeptProgram::KeptProgram(const std::string& path, const std::string& folder, const std::vector<std::string>& settings)
    : name_(std::filesystem::path(path).filename().string()),
      folder_(folder),
      log_(absl::StrCat(folder, "/", name_, ".log")),
      port_file_(absl::StrCat(folder, "/", name_, ".port")),
      changes_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
  inotify_add_watch(changes_.get(), folder_.c_str(), IN_MOVED_TO);
  std::vector<std::string> command = {path, "--config", "/dev/null", "--port-file", port_file_};
  for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
  const pid_t keeper = getpid();
  pid_ = fork();
  if (pid_ == 0) Become(command, log_, keeper);
  fd_ = PidFd(pid_);
}

KeptProgram::~KeptProgram() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  pollfd ended = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
  if (poll(&ended, 1, TimeoutMs(absl::Now() + kEndPatience)) != 1) kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::Status KeptProgram::Ended() const {
  std::string said = ReadFile(log_);
  while (!said.empty() && said.back() == '\n') said.pop_back();
  const size_t line = said.find_last_of('\n');
  return absl::UnavailableError(
      absl::StrCat(name_, " has ended: ", line == std::string::npos ? said : said.substr(line + 1)));
}

absl::StatusOr<std::string> KeptProgram::AwaitReady(absl::Duration patience, int cancel) const {
  const absl::Time deadline = absl::Now() + patience;
  while (access(port_file_.c_str(), R_OK) != 0) {
    pollfd events[] = {{.fd = changes_.get(), .events = POLLIN, .revents = 0},
                       {.fd = fd_.get(), .events = POLLIN, .revents = 0},
                       {.fd = cancel, .events = POLLIN | POLLRDHUP, .revents = 0}};
    if (poll(events, 3, TimeoutMs(deadline)) == 0) {
      return absl::UnavailableError(
          absl::StrCat(name_, " is not ready in time (limit=", absl::FormatDuration(patience), ")"));
    }
    if (events[1].revents != 0) return Ended();
    if (events[2].revents != 0) return absl::CancelledError("the job has ended");
    char unread[4096];
    while (read(changes_.get(), unread, sizeof(unread)) > 0) {
    }
  }
  return ReadFile(port_file_);
}

}  // namespace copse::run
