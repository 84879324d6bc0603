// SPDX-License-Identifier: Apache-2.0
#include "cli/sim/cluster/rank_memory.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace copse::sim {
namespace {

// This many bytes behind a result must stay unchanged.
constexpr size_t kGuardBytes = 16;
constexpr uint8_t kGuard = 0xa5;

}  // namespace

void RankMemory::Receive(uint64_t bytes) { receive_.assign(bytes + kGuardBytes, kGuard); }

uint64_t RankMemory::result_bytes() const { return receives() ? receive_.size() - kGuardBytes : 0; }

absl::StatusOr<absl::Span<const uint8_t>> RankMemory::Result(uint32_t rank) const {
  const absl::Span<const uint8_t> written = receive_;
  const absl::Span<const uint8_t> got = written.first(result_bytes());
  if (!std::all_of(got.end(), written.end(), [](uint8_t byte) { return byte == kGuard; })) {
    return absl::InternalError(absl::StrCat("rank ", rank, ": data behind the result (bytes=", got.size(), ")"));
  }
  return got;
}

}  // namespace copse::sim
