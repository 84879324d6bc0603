// SPDX-License-Identifier: Apache-2.0
#include "client/run/keeper.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"
#include "client/run/kept_folder.h"
#include "client/run/kept_program.h"

namespace copse::run {
namespace {

constexpr char kReady = '+';
constexpr char kFailed = '-';
constexpr char kElsewhere = '=';  // another keeper has the folder
// An other's folder may come and go between two looks.
constexpr int kTries = 3;

std::string ParentOf(const std::string& folder) { return std::filesystem::path(folder).parent_path().string(); }

// The command line still names the program that the job runs: whoever ends all processes of that name does not mean the
// keeper, which the job's end ends.
void HideCommandLine() {
  constexpr std::string_view kName = "copse-run: keeper";
  const size_t bytes = ReadFile("/proc/self/cmdline").size();
  if (bytes <= kName.size()) return;
  std::memset(program_invocation_name, 0, bytes);
  std::memcpy(program_invocation_name, kName.data(), kName.size());
}

// What launchers and terminals wait for, they do not wait for here: closes all descriptors but these two.
void LetGo(int report, int keep_fd) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null.get(), fd);
  unsigned next = STDERR_FILENO + 1;
  const auto [low, high] = std::minmax(report, keep_fd);
  for (const int fd : {low, high}) {
    if (fd < static_cast<int>(next)) continue;
    if (static_cast<unsigned>(fd) > next) close_range(next, static_cast<unsigned>(fd) - 1, 0);
    next = static_cast<unsigned>(fd) + 1;
  }
  close_range(next, ~0u, 0);
}

// Says how it went to those that wait for the folder, and to `report`, which it closes.
void Say(const std::string& said, KeptFolder* own, UniqueFd report) {
  own->Tell(said);
  // Nobody may be left to be told: then the job has ended, or the next one of its processes asks.
  [[maybe_unused]] const ssize_t told = write(report.get(), said.data(), said.size());
}

void Keep(const std::string& folder, const std::string& draft, const std::function<std::unique_ptr<Kept>()>& make,
          UniqueFd report) {
  absl::StatusOr<KeptFolder> own = KeptFolder::Make(folder, draft);
  if (!own.ok()) {
    const std::string said = absl::IsAlreadyExists(own.status())
                                 ? std::string(1, kElsewhere)
                                 : absl::StrCat(std::string(1, kFailed), own.status().message());
    [[maybe_unused]] const ssize_t told = write(report.get(), said.data(), said.size());
    return;
  }
  {
    const std::unique_ptr<Kept> kept = make();
    const absl::StatusOr<std::string> started = kept->Start();
    Say(started.ok() ? kReady + *started : absl::StrCat(std::string(1, kFailed), started.status().message()), &*own,
        std::move(report));
    RemoveAllAbandoned(ParentOf(folder));
    if (started.ok()) kept->AwaitEnd();
  }
  RemoveFolder(folder);
}

// Starts the keeper before there is a folder, and cleans up after it: one of the two is there as long as the folder is.
[[noreturn]] void RunKeeper(const std::string& folder, int keep_fd, const std::function<std::unique_ptr<Kept>()>& make,
                            UniqueFd report) {
  // What is sent to all of the job does not reach it from now on, and nothing was made before.
  setsid();
  HideCommandLine();
  LetGo(report.get(), keep_fd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::string draft = absl::StrCat(folder, ".", getpid());
  const pid_t keeper = fork();
  if (keeper == 0) {
    Keep(folder, draft, make, std::move(report));
    _exit(0);
  }
  report.reset();
  // Programs of a keeper that is killed may still make files while they die.
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
  RemoveFolder(draft);
  RemoveAbandoned(folder);
  _exit(0);
}

// Returns what the keeper has written; "" if it was killed.
absl::StatusOr<std::string> FromNewKeeper(const std::string& folder, int keep_fd,
                                          const std::function<std::unique_ptr<Kept>()>& make) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return absl::UnavailableError(absl::StrCat("pipe: ", std::strerror(errno)));
  UniqueFd said(ends[0]), report(ends[1]);
  // By way of a process that ends at once: the launcher that this one becomes has no child that it does not know.
  const pid_t between = fork();
  if (between == 0) {
    said.reset();
    if (fork() == 0) RunKeeper(folder, keep_fd, make, std::move(report));
    _exit(0);
  }
  report.reset();
  if (between > 0) waitpid(between, nullptr, 0);
  std::string text;
  char part[4096];
  for (ssize_t bytes; (bytes = read(said.get(), part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(bytes));
  return text;
}

}  // namespace

absl::StatusOr<std::string> StartKeeper(const std::string& folder, int keep_fd,
                                        const std::function<std::unique_ptr<Kept>()>& make) {
  for (int i = 0; i < kTries; ++i) {
    absl::StatusOr<std::string> said = AwaitTold(folder);
    if (absl::IsNotFound(said.status())) said = FromNewKeeper(folder, keep_fd, make);
    RETURN_IF_ERROR(said.status());
    if (said->empty()) return absl::UnavailableError("the keeper of the job's daemons has ended");
    if (said->front() == kReady) return said->substr(1);
    if (said->front() == kFailed) return absl::UnavailableError(said->substr(1));
  }
  return absl::UnavailableError(absl::StrCat("the folder is neither complete nor gone (path=", folder, ")"));
}

}  // namespace copse::run
