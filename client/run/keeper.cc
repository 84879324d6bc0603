// SPDX-License-Identifier: Apache-2.0
#include "client/run/keeper.h"

#include <fcntl.h>
#include <signal.h>
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
#include "base/unique_fd.h"
#include "client/run/kept_program.h"

namespace copse::run {
namespace {

constexpr char kReady = '+';
constexpr char kFailed = '-';

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

void RemoveFolder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// Writes kReady or kFailed with what Start said to `report`, and closes it.
void Keep(const std::string& folder, const std::function<std::unique_ptr<Kept>()>& make, UniqueFd report) {
  {
    const std::unique_ptr<Kept> kept = make();
    const absl::StatusOr<std::string> started = kept->Start();
    const std::string said =
        started.ok() ? kReady + *started : absl::StrCat(std::string(1, kFailed), started.status().message());
    // Nobody may be left to be told: then the job has ended, or the next one of its processes asks.
    [[maybe_unused]] const ssize_t told = write(report.get(), said.data(), said.size());
    report.reset();
    if (started.ok()) kept->AwaitEnd();
  }
  RemoveFolder(folder);
}

[[noreturn]] void RunKeeper(const std::string& folder, int keep_fd, const std::function<std::unique_ptr<Kept>()>& make,
                            UniqueFd report) {
  // What is sent to all of the job does not reach it from now on, and nothing was made before.
  setsid();
  HideCommandLine();
  LetGo(report.get(), keep_fd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL);
  const pid_t keeper = fork();
  if (keeper == 0) {
    Keep(folder, make, std::move(report));
    _exit(0);
  }
  report.reset();
  // This process cleans up after a keeper that is killed.
  if (keeper > 0) waitpid(keeper, nullptr, 0);
  RemoveFolder(folder);
  _exit(0);
}

}  // namespace

absl::StatusOr<std::string> StartKeeper(const std::string& folder, int keep_fd,
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
  if (text.empty()) {
    // It may have been killed before there was a process to clean up after it.
    RemoveFolder(folder);
    return absl::UnavailableError("the keeper of the job's daemons has ended");
  }
  if (text[0] == kReady) return text.substr(1);
  return absl::UnavailableError(text.substr(1));
}

}  // namespace copse::run
