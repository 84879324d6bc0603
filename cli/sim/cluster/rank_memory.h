// SPDX-License-Identifier: Apache-2.0
//
// The buffers of a simulated rank.
#ifndef COPSE_CLI_SIM_CLUSTER_RANK_MEMORY_H_
#define COPSE_CLI_SIM_CLUSTER_RANK_MEMORY_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"

namespace copse::sim {

// RankMemory is what a rank sends, and where it receives; bytes behind its result must stay unchanged.
class RankMemory {
 public:
  void SetSend(std::vector<uint8_t> send) { send_ = std::move(send); }
  // Makes room for a result of `bytes`, which may be 0.
  void Receive(uint64_t bytes);

  bool receives() const { return !receive_.empty(); }
  absl::Span<uint8_t> send() { return absl::MakeSpan(send_); }
  absl::Span<uint8_t> receive() { return absl::MakeSpan(receive_).first(result_bytes()); }
  // Returns the result of rank `rank`, which receives. Errors: INTERNAL if bytes behind it were written.
  absl::StatusOr<absl::Span<const uint8_t>> Result(uint32_t rank) const;

 private:
  uint64_t result_bytes() const;

  std::vector<uint8_t> send_;
  std::vector<uint8_t> receive_;  // the result and guard bytes; empty if the rank receives nothing
};

}  // namespace copse::sim

#endif  // COPSE_CLI_SIM_CLUSTER_RANK_MEMORY_H_
