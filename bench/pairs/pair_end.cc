// SPDX-License-Identifier: Apache-2.0
#include "bench/pairs/pair_end.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

namespace copse::bench {
namespace {

constexpr size_t kExchangedBytesMax = 8192;

}  // namespace

absl::StatusOr<PairEnd> PairEnd::Fork() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) return absl::ErrnoToStatus(errno, "socketpair");
  daemon::UniqueFd first(sockets[0]), second(sockets[1]);
  const pid_t child = fork();
  if (child < 0) return absl::ErrnoToStatus(errno, "fork");
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return PairEnd(child != 0, std::move(child != 0 ? first : second));
}

bool PairEnd::IsQuiet() const {
  char next = 0;
  return recv(socket_.get(), &next, sizeof(next), MSG_PEEK | MSG_DONTWAIT) < 0;
}

absl::StatusOr<std::string> PairEnd::Exchange(const std::string& mine) const {
  if (send(socket_.get(), mine.data(), mine.size(), MSG_NOSIGNAL) < 0) return absl::ErrnoToStatus(errno, "send");
  std::string theirs(kExchangedBytesMax, '\0');
  const ssize_t bytes = recv(socket_.get(), theirs.data(), theirs.size(), 0);
  if (bytes <= 0) return Gone();
  theirs.resize(static_cast<size_t>(bytes));
  return theirs;
}

void PairEnd::AwaitStart() const {
  std::printf("ready\n");
  std::fflush(stdout);
  char ignored[64];
  while (read(STDIN_FILENO, ignored, sizeof(ignored)) > 0) {
  }
}

}  // namespace copse::bench
