// SPDX-License-Identifier: Apache-2.0
//
// A program whose two processes are measured: the first speaks as bench/ranks/rank_main.c does, the second serves it.
#ifndef COPSE_BENCH_PAIRS_PAIR_END_H_
#define COPSE_BENCH_PAIRS_PAIR_END_H_

#include <sys/socket.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "daemon/loop/unique_fd.h"

namespace copse::bench {

// What one of the two has: a socket to the other, beside the network that is measured. Single-threaded.
class PairEnd {
 public:
  // Makes two processes of this one, and returns in both. The second ends with the first.
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
  // Neither a message has come, nor has the other gone. Never waits.
  bool IsQuiet() const;
  // Both call it: what the other gives, at most 8 KiB.
  absl::StatusOr<std::string> Exchange(const std::string& mine) const;

  // The first process says `ready`, and returns at the end of the standard input.
  void AwaitStart() const;

 private:
  PairEnd(bool is_first, daemon::UniqueFd socket) : is_first_(is_first), socket_(std::move(socket)) {}
  static absl::Status Gone() { return absl::UnavailableError("the other process has gone"); }

  bool is_first_;
  daemon::UniqueFd socket_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_PAIR_END_H_
