// SPDX-License-Identifier: Apache-2.0
//
// Connects the two processes of a measured program: the first has the protocol of bench/ranks/rank_main.c, the second
// serves it.
#ifndef COPSE_BENCH_PAIRS_PAIR_END_H_
#define COPSE_BENCH_PAIRS_PAIR_END_H_

#include <sys/socket.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::bench {

// A PairEnd is one process's end of a socket to the other process, apart from the measured network. Thread-compatible.
class PairEnd {
 public:
  // Forks, and returns in both processes. The second one is killed when the first one ends.
  static absl::StatusOr<PairEnd> Fork();

  bool is_first() const { return is_first_; }

  // A message is a struct of plain data, the same in both processes. UNAVAILABLE if the other has gone.
  template <typename Message>
  absl::Status Notify(const Message& message) const {
    return send(socket_.get(), &message, sizeof(message), MSG_NOSIGNAL) == sizeof(message) ? absl::OkStatus() : Gone();
  }
  template <typename Message>
  absl::Status Receive(Message* message) const {
    return recv(socket_.get(), message, sizeof(*message), 0) == sizeof(*message) ? absl::OkStatus() : Gone();
  }
  // Returns whether no message has arrived and the other process still exists. Never waits.
  bool IsQuiet() const;
  // Both processes call this. Returns the other one's `mine`, of at most 8 KiB.
  absl::StatusOr<std::string> Exchange(const std::string& mine) const;

  // Called by the first process: prints `ready`, and returns at the end of the standard input.
  void AwaitStart() const;

 private:
  PairEnd(bool is_first, daemon::UniqueFd socket) : is_first_(is_first), socket_(std::move(socket)) {}
  static absl::Status Gone() { return absl::UnavailableError("the other process has gone"); }

  bool is_first_;
  daemon::UniqueFd socket_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_PAIR_END_H_
