// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_daemons.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace copse::run {
namespace {

// After SIGTERM. Clients have ended: there is nothing to drain.
constexpr absl::Duration kEndPatience = absl::Seconds(2);
constexpr char kReady = '+';
constexpr char kFailed = '-';

int TimeoutMs(absl::Time deadline) {
  return static_cast<int>(
      std::max<int64_t>(0, absl::ToInt64Milliseconds(absl::Ceil(deadline - absl::Now(), absl::Milliseconds(1)))));
}

UniqueFd PidFd(pid_t pid) { return UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))); }

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A Program is a planner or daemon that runs. The destructor ends it.
class Program {
 public:
  Program(std::string name, std::vector<std::string> command, const std::string& log) : name_(std::move(name)) {
    log_ = log;
    std::vector<char*> words;
    for (std::string& word : command) words.push_back(word.data());
    words.push_back(nullptr);
    pid_ = fork();
    if (pid_ != 0) {
      fd_ = PidFd(pid_);
      return;
    }
    // It ends with its keeper, on whichever processors that may run.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), &all);
    const UniqueFd to(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600));
    dup2(to.get(), STDERR_FILENO);
    execv(words[0], words.data());
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], std::strerror(errno));
    _exit(127);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (pid_ <= 0) return;
    kill(pid_, SIGTERM);
    pollfd ended = {.fd = fd_.get(), .events = POLLIN, .revents = 0};
    if (poll(&ended, 1, TimeoutMs(absl::Now() + kEndPatience)) != 1) kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  int fd() const { return fd_.get(); }
  // Returns why it has ended: the last line that it has written.
  absl::Status Ended() const {
    std::string said = ReadFile(log_);
    while (!said.empty() && said.back() == '\n') said.pop_back();
    const size_t line = said.find_last_of('\n');
    return absl::UnavailableError(
        absl::StrCat(name_, " has ended: ", line == std::string::npos ? said : said.substr(line + 1)));
  }

 private:
  const std::string name_;
  std::string log_;
  pid_t pid_ = -1;
  UniqueFd fd_;
};

// A Keeper owns planner, daemon and their folder.
class Keeper {
 public:
  Keeper(const JobDaemonsOptions& options, UniqueFd job_fd) : options_(options), job_fd_(std::move(job_fd)) {}
  ~Keeper() {
    daemon_.reset();
    planner_.reset();
    std::error_code ignored;
    if (has_folder_) std::filesystem::remove_all(folder_, ignored);
  }

  absl::Status Start() {
    const absl::Time deadline = absl::Now() + options_.patience;
    folder_ = options_.parent + "/copse-run-XXXXXX";
    has_folder_ = mkdtemp(folder_.data()) != nullptr;
    if (!has_folder_) {
      return absl::UnavailableError(
          absl::StrCat("no folder can be made (parent=", options_.parent, "): ", std::strerror(errno)));
    }
    const UniqueFd changes(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    if (inotify_add_watch(changes.get(), folder_.c_str(), IN_MOVED_TO) < 0) {
      return absl::UnavailableError(absl::StrCat("inotify: ", std::strerror(errno)));
    }
    // The token lets the user's own processes join, and nobody else.
    RETURN_IF_ERROR(WriteToken());
    planner_ = std::make_unique<Program>(
        "copse-planner",
        CommandOf(options_.planner, "planner.port", {"listen=127.0.0.1:0", "join_token_file=" + folder_ + "/token"}),
        folder_ + "/planner.log");
    ASSIGN_OR_RETURN(const std::string planner, AwaitFile("planner.port", *planner_, changes.get(), deadline));
    daemon_ = std::make_unique<Program>(
        "copsed",
        CommandOf(options_.daemon, "copsed.port",
                  {"planner=" + planner, "join_token_file=" + folder_ + "/token", "socket=" + socket(),
                   "run_dir=" + folder_, "admin_listen=127.0.0.1:0", "drain_timeout=1s"}),
        folder_ + "/copsed.log");
    return AwaitFile("copsed.port", *daemon_, changes.get(), deadline).status();
  }
  std::string socket() const { return folder_ + "/copsed.sock"; }
  // Waits until the job has ended.
  void Keep() const {
    pollfd ended = {.fd = job_fd_.get(), .events = POLLIN, .revents = 0};
    while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
  }

 private:
  std::vector<std::string> CommandOf(const std::string& program, const std::string& port_file,
                                     std::initializer_list<std::string> settings) const {
    std::vector<std::string> command = {program, "--config", "/dev/null", "--port-file", folder_ + "/" + port_file};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    return command;
  }
  absl::Status WriteToken() const {
    const std::string path = folder_ + "/token";
    const std::string uuid = ReadFile("/proc/sys/kernel/random/uuid");
    const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0400));
    if (uuid.empty() || write(file.get(), uuid.data(), uuid.size()) != static_cast<ssize_t>(uuid.size())) {
      return absl::UnavailableError(absl::StrCat("cannot write (file=", path, "): ", std::strerror(errno)));
    }
    return absl::OkStatus();
  }
  // Waits until `program` has moved the file to its place, and returns its content.
  absl::StatusOr<std::string> AwaitFile(const std::string& name, const Program& program, int changes,
                                        absl::Time deadline) const {
    const std::string path = folder_ + "/" + name;
    while (access(path.c_str(), R_OK) != 0) {
      pollfd events[] = {{.fd = changes, .events = POLLIN, .revents = 0},
                         {.fd = program.fd(), .events = POLLIN, .revents = 0},
                         {.fd = job_fd_.get(), .events = POLLIN, .revents = 0}};
      if (poll(events, 3, TimeoutMs(deadline)) == 0) {
        return absl::UnavailableError(absl::StrCat("not ready in time (missing=", name,
                                                   ", limit=", absl::FormatDuration(options_.patience), ")"));
      }
      if (events[1].revents != 0) return program.Ended();
      if (events[2].revents != 0) return absl::CancelledError("the job has ended");
      char unread[4096];
      while (read(changes, unread, sizeof(unread)) > 0) {
      }
    }
    return ReadFile(path);
  }

  const JobDaemonsOptions options_;
  std::string folder_;
  bool has_folder_ = false;
  const UniqueFd job_fd_;
  std::unique_ptr<Program> planner_, daemon_;
};

// The command line still names the program that the job runs: whoever ends all processes of that name does not mean the
// keeper, which the job's end ends.
void HideCommandLine() {
  constexpr std::string_view kName = "copse-run: keeper";
  const size_t bytes = ReadFile("/proc/self/cmdline").size();
  if (bytes <= kName.size()) return;
  std::memset(program_invocation_name, 0, bytes);
  std::memcpy(program_invocation_name, kName.data(), kName.size());
}

// The keeper's process: writes kReady and the socket, or kFailed and the reason, to `report`.
[[noreturn]] void RunKeeper(const JobDaemonsOptions& options, UniqueFd job_fd, UniqueFd report) {
  // What is sent to all of the job does not reach it from now on, and nothing was made before.
  setsid();
  HideCommandLine();
  // What the job's terminal and launcher wait for, they do not wait for here.
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  {
    Keeper keeper(options, std::move(job_fd));
    const absl::Status started = keeper.Start();
    const std::string said =
        started.ok() ? kReady + keeper.socket() : absl::StrCat(std::string(1, kFailed), started.message());
    const bool told = write(report.get(), said.data(), said.size()) > 0;
    report.reset();
    if (started.ok() && told) keeper.Keep();
  }
  _exit(0);
}

}  // namespace

absl::StatusOr<std::string> StartJobDaemons(const JobDaemonsOptions& options) {
  for (const std::string& program : {options.planner, options.daemon}) {
    if (access(program.c_str(), X_OK) != 0) {
      return absl::UnavailableError(absl::StrCat("no such program (path=", program, ")"));
    }
  }
  UniqueFd job_fd = PidFd(getpid());
  int ends[2];
  if (!job_fd.valid() || pipe2(ends, O_CLOEXEC) != 0) {
    return absl::UnavailableError(absl::StrCat("pidfd_open, pipe: ", std::strerror(errno)));
  }
  UniqueFd said(ends[0]), report(ends[1]);
  // By way of a process that ends at once: the launcher that this one becomes has no child that it does not know.
  const pid_t between = fork();
  if (between == 0) {
    said.reset();
    if (fork() == 0) RunKeeper(options, std::move(job_fd), std::move(report));
    _exit(0);
  }
  report.reset();
  if (between > 0) waitpid(between, nullptr, 0);
  std::string text;
  char part[4096];
  for (ssize_t bytes; (bytes = read(said.get(), part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(bytes));
  if (text.empty()) return absl::UnavailableError("the keeper of planner and daemon has ended");
  if (text[0] == kReady) return text.substr(1);
  return absl::UnavailableError(text.substr(1));
}

}  // namespace copse::run
