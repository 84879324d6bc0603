// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/local.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/perftest/clock.h"

namespace copse::perftest {
namespace {

constexpr int64_t kPatienceNs = 5'000'000'000;

struct Child {
  pid_t pid = -1;
  int pipe = -1;  // read end: the child writes its error and closes the other end
  bool running = false;
  Outcome outcome;
};

[[noreturn]] void BeRank(uint32_t rank, int pipe, pid_t parent, const std::function<Outcome(uint32_t)>& run_rank) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const Outcome outcome = run_rank(rank);
  // 4096 bytes fit into the empty pipe, so the write does not block. It fails only if the parent has ended.
  const std::string& error = outcome.error;
  [[maybe_unused]] const ssize_t written = write(pipe, error.data(), std::min<size_t>(error.size(), 4096));
  _exit(outcome.exit_code);
}

bool Start(uint32_t rank, const std::function<Outcome(uint32_t)>& run_rank, Child* child) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  const pid_t parent = getpid();
  child->pid = fork();
  if (child->pid == 0) {
    close(ends[0]);
    BeRank(rank, ends[1], parent, run_rank);
  }
  close(ends[1]);
  child->pipe = ends[0];
  child->running = child->pid > 0;
  return child->running;
}

// Waits until a running child has written or ended, but at most until `deadline_ns` (NowNs; INT64_MAX: no limit).
void AwaitOutput(const std::vector<Child>& children, int64_t deadline_ns) {
  std::vector<pollfd> events;
  for (const Child& child : children) {
    if (child.running) events.push_back({child.pipe, POLLIN, 0});
  }
  const int64_t wait_ms = deadline_ns == INT64_MAX ? -1 : std::max<int64_t>(0, (deadline_ns - NowNs()) / 1'000'000 + 1);
  poll(events.data(), events.size(), static_cast<int>(wait_ms));
}

// Waits until the child, which has closed its pipe or was killed, has ended, and stores its exit code.
void Reap(uint32_t rank, Child* child) {
  int status = 0;
  while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR) {
  }
  child->running = false;
  if (WIFEXITED(status)) {
    child->outcome.exit_code = WEXITSTATUS(status);
  } else {
    child->outcome = {1, absl::StrCat("rank ", rank, ": ended by a signal (signal=", WTERMSIG(status), ")")};
  }
}

// Reads the child's output without waiting for it. At the end of the pipe, reaps the child and returns true.
bool Read(uint32_t rank, Child* child) {
  pollfd event{child->pipe, POLLIN, 0};
  if (poll(&event, 1, 0) <= 0) return false;
  char buffer[4096];
  const ssize_t got = read(child->pipe, buffer, sizeof(buffer));
  if (got > 0) {
    child->outcome.error.append(buffer, static_cast<size_t>(got));
    return false;
  }
  Reap(rank, child);
  return true;
}

}  // namespace

Outcome RunLocally(uint32_t ranks, const std::function<Outcome(uint32_t rank)>& run_rank) {
  std::fflush(stdout);
  std::vector<Child> children(ranks);
  Outcome start;
  for (uint32_t rank = 0; rank < ranks && start.exit_code == 0; ++rank) {
    if (!Start(rank, run_rank, &children[rank])) {
      start = {1, absl::StrCat("--local: cannot start a rank: ", std::strerror(errno), " (rank=", rank, ")")};
    }
  }
  int64_t deadline_ns = start.exit_code == 0 ? INT64_MAX : NowNs();
  std::vector<bool> killed(ranks);
  while (std::any_of(children.begin(), children.end(), [](const Child& child) { return child.running; })) {
    AwaitOutput(children, deadline_ns);
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      Child& child = children[rank];
      if (!child.running) continue;
      if (!killed[rank] && Read(rank, &child) && child.outcome.exit_code != 0) {
        deadline_ns = std::min(deadline_ns, NowNs() + kPatienceNs);
      }
      if (!child.running || NowNs() < deadline_ns) continue;
      kill(child.pid, SIGKILL);
      killed[rank] = true;
      Reap(rank, &child);
    }
  }
  for (const Child& child : children) {
    if (child.pipe >= 0) close(child.pipe);
  }
  if (start.exit_code != 0) return start;
  const Outcome* reason = nullptr;
  int best = 0;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    const Outcome& outcome = children[rank].outcome;
    if (outcome.exit_code == 0) continue;
    // Ranks that this process killed are never the cause. If one rank times out, the others fail with code 1.
    const int weight = killed[rank] ? 1 : outcome.exit_code == 1 ? 2 : 3;
    if (weight > best) reason = &outcome;
    best = std::max(best, weight);
  }
  if (reason != nullptr) return *reason;
  return {};
}

}  // namespace copse::perftest
