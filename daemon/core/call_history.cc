// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/call_history.h"

#include <algorithm>

namespace copse::daemon {

std::optional<CallHistory::Call> CallHistory::Note(Rank rank, const CallArguments& arguments) {
  const uint64_t number = noted_ = next_[rank]++;
  if (number == begun_) {
    ++begun_;
    if (calls_.size() < kCallsMax) {
      calls_.push_back({rank, arguments});
    } else {
      calls_[number % kCallsMax] = {rank, arguments};
    }
    return std::nullopt;
  }
  const Call* const first = Find(number);
  if (first == nullptr || first->arguments == arguments) return std::nullopt;
  return *first;
}

const CallHistory::Call* CallHistory::Find(uint64_t number) const {
  if (number >= begun_ || number + kCallsMax < begun_) return nullptr;
  return &calls_[number % kCallsMax];
}

CallHistory::Summary CallHistory::Summarize() const {
  Summary summary{.first = begun_ - std::min<uint64_t>(begun_, kCallsMax)};
  for (uint64_t n = summary.first; n < begun_; ++n) {
    summary.hashes.push_back(HashArguments(Find(n)->arguments));
  }
  return summary;
}

std::optional<uint64_t> CallHistory::FirstDifference(uint64_t first, absl::Span<const uint16_t> hashes) const {
  for (size_t i = 0; i < hashes.size(); ++i) {
    const Call* const ours = Find(first + i);
    if (ours != nullptr && HashArguments(ours->arguments) != hashes[i]) return first + i;
  }
  return std::nullopt;
}

}  // namespace copse::daemon
