// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/call_history.h"

#include <algorithm>

namespace copse::daemon {

std::optional<RankArguments> CallHistory::Note(Rank rank, const CallArguments& arguments) {
  auto next = std::lower_bound(next_.begin(), next_.end(), rank, [](const auto& a, Rank b) { return a.first < b; });
  if (next == next_.end() || next->first != rank) next = next_.insert(next, {rank, 0});
  const uint64_t number = noted_ = next->second++;
  if (number == begun_) {
    ++begun_;
    if (calls_.size() < kCallsMax) {
      calls_.push_back({rank, arguments});
    } else {
      calls_[number % kCallsMax] = {rank, arguments};
    }
    return std::nullopt;
  }
  const RankArguments* const first = Find(number);
  if (first == nullptr || first->arguments == arguments) return std::nullopt;
  return *first;
}

const RankArguments* CallHistory::Find(uint64_t number) const {
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
    const RankArguments* const ours = Find(first + i);
    if (ours != nullptr && HashArguments(ours->arguments) != hashes[i]) return first + i;
  }
  return std::nullopt;
}

}  // namespace copse::daemon
