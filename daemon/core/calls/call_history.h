// SPDX-License-Identifier: Apache-2.0
//
// The calls that the ranks of one node have made in a team and its derived teams.
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

// A team and its derived teams number their calls apart, so a rank in a gather and one in an alltoall could each wait
// for ever in calls with the same number. All ranks make the calls of all classes in one order, which a CallHistory
// numbers: different calls under one number are a mistake of the program. Thread-compatible.
class CallHistory {
 public:
  // The newest calls that have begun are kept, so many.
  static constexpr uint32_t kCallsMax = 64;

  // Hashes of the arguments of consecutive calls; `first` is the first one's number.
  struct Summary {
    uint64_t first = 0;
    std::vector<uint16_t> hashes;
  };

  // Records the rank's next call. Returns another rank's call of the same number if it is different.
  std::optional<RankArguments> Note(Rank rank, const CallArguments& arguments);
  // The number of the last call that Note recorded.
  uint64_t noted() const { return noted_; }
  // Null: it has not begun, or is not kept any more.
  const RankArguments* Find(uint64_t number) const;
  Summary Summarize() const;
  // Returns the number of the first of another node's calls that is different here.
  std::optional<uint64_t> FirstDifference(uint64_t first, absl::Span<const uint16_t> hashes) const;

 private:
  std::vector<std::pair<Rank, uint64_t>> next_;  // by rank, ascending: the number of its next call
  uint64_t begun_ = 0;                           // calls below this have begun
  uint64_t noted_ = 0;
  std::vector<RankArguments> calls_;  // by number modulo kCallsMax; grows to that
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CALL_HISTORY_H_
