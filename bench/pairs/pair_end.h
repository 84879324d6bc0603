// SPDX-License-Identifier: Apache-2.0
//
// Runs a program that measures between two processes: the first has the protocol of bench/ranks/rank_main.c, the second
// serves it.
#ifndef COPSE_BENCH_PAIRS_PAIR_END_H_
#define COPSE_BENCH_PAIRS_PAIR_END_H_

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/unique_fd.h"

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

 private:
  PairEnd(bool is_first, UniqueFd socket) : is_first_(is_first), socket_(std::move(socket)) {}
  static absl::Status Gone() { return absl::UnavailableError("the other process has gone"); }

  bool is_first_;
  UniqueFd socket_;
};

// PairArguments holds the command line SYSTEM BUDGET_MS COUNT_MAX CELL...; a cell is MODE:WHAT:BYTES.
struct PairArguments {
  struct Cell {
    std::string mode;
    uint32_t bytes = 0;
  };
  std::string system;
  double budget_us = 0;
  uint32_t count_max = 0;
  std::vector<Cell> cells;
};

// A PairSide is one process's connection to the other. Calls follow Address Connect Serve, or Address Connect Measure*
// End in the first process.
class PairSide {
 public:
  virtual ~PairSide() = default;

  // The first process hands the result to the second one's Connect, and the other way around. "": there is none.
  virtual std::string Address() = 0;
  virtual absl::Status Connect(const std::string& peer_address) = 0;
  // Returns the samples of cell number `index`.
  virtual absl::StatusOr<std::vector<double>> Measure(const PairEnd& pair, const PairArguments& arguments,
                                                      size_t index) = 0;
  virtual absl::Status End(const PairEnd& pair) = 0;
  virtual absl::Status Serve(const PairEnd& pair, const PairArguments& arguments) = 0;
};

// The main of such a program. `open` makes the side of process 0 or 1; an INVALID_ARGUMENT of its is bad usage.
using OpenSide =
    std::function<absl::StatusOr<std::unique_ptr<PairSide>>(const PairArguments& arguments, uint32_t number)>;
int PairMain(int argc, char** argv, const OpenSide& open);

}  // namespace copse::bench

#endif  // COPSE_BENCH_PAIRS_PAIR_END_H_
