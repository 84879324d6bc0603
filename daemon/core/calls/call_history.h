// SPDX-License-Identifier: Apache-2.0
//
// Which calls the ranks of one node have made in a team, over all its companions.
#ifndef COPSE_DAEMON_CORE_CALLS_CALL_HISTORY_H_
#define COPSE_DAEMON_CORE_CALLS_CALL_HISTORY_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "base/ids.h"
#include "collectives/call_arguments.h"
#include "daemon/core/calls/call_record.h"

namespace copse::daemon {

// A team and its companions number their calls apart, so a rank in a gather and one in an alltoall may each wait for
// ever in calls that have the same number. Over all families calls come in one order on all ranks, too: that is
// numbered here, and what differs under one number is a mistake. Thread-compatible.
class CallHistory {
 public:
  // Calls that are remembered, of those that have begun.
  static constexpr uint32_t kCallsMax = 64;

  // Consecutive calls, as their arguments' hashes.
  struct Summary {
    uint64_t first = 0;
    std::vector<uint16_t> hashes;
  };

  // The rank makes its next call. Returns another rank's call of the same number that is different, if there is one.
  std::optional<RankArguments> Note(Rank rank, const CallArguments& arguments);
  // Of the last call that `Note` was called with.
  uint64_t noted() const { return noted_; }
  // Null: not begun, or forgotten.
  const RankArguments* Find(uint64_t number) const;
  Summary Summarize() const;
  // The first of another node's calls that is different here.
  std::optional<uint64_t> FirstDifference(uint64_t first, absl::Span<const uint16_t> hashes) const;

 private:
  std::vector<std::pair<Rank, uint64_t>> next_;  // by rank, ascending: the number of its next call
  uint64_t begun_ = 0;                           // calls below this have begun
  uint64_t noted_ = 0;
  std::vector<RankArguments> calls_;  // by number modulo kCallsMax; grows to that
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CALL_HISTORY_H_
