// SPDX-License-Identifier: Apache-2.0
//
// Records the calls that the ranks of one node have made in a team and its derived teams.
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

// A team and its derived teams number their calls separately, so a rank in a gather and one in an alltoall could each
// wait forever in a call that the other makes later. But all ranks must make the calls of all collective classes in the
// same order. A CallHistory numbers the calls in that order: different calls with one number are an error of the
// program. Thread-compatible.
class CallHistory {
 public:
  // This many of the newest calls are kept.
  static constexpr uint32_t kCallsMax = 64;

  // A Summary has the hashes of the arguments of consecutive calls, from call number `first` on.
  struct Summary {
    uint64_t first = 0;
    std::vector<uint16_t> hashes;
  };

  // Records the rank's next call. Returns the call of that number which another rank here made first, if it is still
  // kept and its arguments differ.
  std::optional<RankArguments> Note(Rank rank, const CallArguments& arguments);
  // Returns the number of the last call that Note recorded.
  uint64_t noted() const { return noted_; }
  // Returns null if no rank here has made the call, or if it is not kept any more.
  const RankArguments* Find(uint64_t number) const;
  // Returns the hashes of all calls that are kept.
  Summary Summarize() const;
  // Compares another node's calls, from number `first` on, with those that are kept here. Returns the number of the
  // first one with another hash.
  std::optional<uint64_t> FirstDifference(uint64_t first, absl::Span<const uint16_t> hashes) const;

 private:
  std::vector<std::pair<Rank, uint64_t>> next_;  // number of each rank's next call, ascending by rank
  uint64_t begun_ = 0;                           // number of calls that at least one rank here has made
  uint64_t noted_ = 0;
  std::vector<RankArguments> calls_;  // by number modulo kCallsMax; grows up to kCallsMax entries
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_CALLS_CALL_HISTORY_H_
