// SPDX-License-Identifier: Apache-2.0
#include "bench/pairs/pair_end.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "bench/ranks/rank_talk.h"

namespace copse::bench {
namespace {

constexpr size_t kExchangedBytesMax = 8192;

bool Parse(int argc, char** argv, PairArguments* arguments) {
  double budget_ms = 0;
  if (argc < 5 || !absl::SimpleAtod(argv[2], &budget_ms) || !absl::SimpleAtoi(argv[3], &arguments->count_max)) {
    return false;
  }
  arguments->system = argv[1];
  arguments->budget_us = budget_ms * 1e3;
  for (int i = 4; i < argc; ++i) {
    const std::vector<std::string> words = absl::StrSplit(argv[i], ':');
    PairArguments::Cell& cell = arguments->cells.emplace_back();
    if (words.size() != 3 || !absl::SimpleAtoi(words[2], &cell.bytes)) return false;
    cell.mode = words[0];
  }
  return true;
}

absl::Status Run(const PairArguments& arguments, const OpenSide& open) {
  ASSIGN_OR_RETURN(const PairEnd pair, PairEnd::Fork());
  ASSIGN_OR_RETURN(const std::unique_ptr<PairSide> side, open(arguments, pair.is_first() ? 0 : 1));
  ASSIGN_OR_RETURN(const std::string peer, pair.Exchange(side->Address()));
  RETURN_IF_ERROR(side->Connect(peer));
  if (!pair.is_first()) return side->Serve(pair, arguments);
  say_ready();
  await_end_of_input();
  for (size_t i = 0; i < arguments.cells.size(); ++i) {
    ASSIGN_OR_RETURN(const std::vector<double> samples, side->Measure(pair, arguments, i));
    say_samples(static_cast<int>(i), samples.data(), static_cast<uint32_t>(samples.size()));
  }
  return side->End(pair);
}

}  // namespace

absl::StatusOr<PairEnd> PairEnd::Fork() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets) != 0) return absl::ErrnoToStatus(errno, "socketpair");
  UniqueFd first(sockets[0]), second(sockets[1]);
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

int PairMain(int argc, char** argv, const OpenSide& open) {
  PairArguments arguments;
  if (!Parse(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: %s SYSTEM BUDGET_MS COUNT_MAX MODE:WHAT:BYTES...\n", argv[0]);
    return 2;
  }
  const absl::Status status = Run(arguments, open);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s: %s\n", argv[0], argv[1], std::string(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace copse::bench
