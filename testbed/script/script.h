// SPDX-License-Identifier: Apache-2.0
//
// Scripts: the steps of a scenario's application processes, and their outcomes. The same script runs in a simulated
// client and in a real process that links libcopse.
#ifndef COPSE_TESTBED_SCRIPT_SCRIPT_H_
#define COPSE_TESTBED_SCRIPT_SCRIPT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protocol/control.h"
#include "schedule/testing/rank_data.h"

namespace copse::scenario {

enum class StepKind : uint8_t {
  kTeam,     // forms or joins team `name` as `rank` of `size`, under the script's own number `team`
  kSubTeam,  // the ranks of `members` (numbers of team `parent`, in the new order) form it; the others take part
  kCall,     // one call of `team`; waits for its end
  kPost,     // one call, not awaited; its outcome follows when it ends
  kAwait,    // waits until all posted calls have ended (or `timeout`)
  kDestroy,  // `team`
  kPause,    // does nothing for `pause`
  kDie,      // the process is killed
};

struct Step {
  StepKind kind = StepKind::kAwait;
  uint32_t team = 0;
  std::string name;
  uint32_t rank = 0;
  uint32_t size = 0;
  uint32_t parent = 0;
  std::vector<uint32_t> members;
  // One call: rank_data.h. It is the same on all ranks, unless a test wants them to differ.
  CallArguments arguments;
  std::vector<uint64_t> counts;
  bool in_place = false;
  bool displaced = false;
  uint64_t seed = 0;           // of the contributions' values
  uint32_t under_way_max = 0;  // daemon::CallPost's; simulated clients only, since libcopse has its own
  absl::Duration pause;
  absl::Duration timeout = absl::InfiniteDuration();  // kCall, kAwait, kTeam
  friend bool operator==(const Step&, const Step&) = default;
};
using Script = std::vector<Step>;

// Returns the call of a kCall or kPost.
inline schedule::WholeCall WholeCallOf(const Step& step) {
  return {step.arguments, step.counts, step.in_place, step.displaced, step.seed};
}

// The end of one step. Every kTeam, kSubTeam, kCall, kPost and kDestroy has one, in the order of the script.
struct Outcome {
  schedule::Failure failure = schedule::Failure::kNone;
  std::string text;     // text of the failure
  bool data_ok = true;  // the result, and the bytes around it, equal the reference's
  schedule::FailureCause cause = schedule::FailureCause::kUnknown;
  std::string node;  // the failure's node; empty: no single node
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome OutcomeOf(const schedule::FailureReport& why);

// Formats a step as one line for a process's standard input, and an outcome as one line of its standard output.
std::string FormatStep(const Step& step);
absl::StatusOr<Step> ParseStep(std::string_view line);
std::string FormatOutcome(size_t step, const Outcome& outcome);
struct NumberedOutcome {
  size_t step = 0;
  Outcome outcome;
};
absl::StatusOr<NumberedOutcome> ParseOutcome(std::string_view line);

// These functions make common steps.
Step TeamStep(uint32_t team, std::string name, uint32_t rank, uint32_t size);
Step CallStep(uint32_t team, const CallArguments& arguments, uint64_t seed);
Step PostStep(uint32_t team, const CallArguments& arguments, uint64_t seed);
Step AwaitStep();
Step DestroyStep(uint32_t team);
Step PauseStep(absl::Duration pause);

}  // namespace copse::scenario

#endif  // COPSE_TESTBED_SCRIPT_SCRIPT_H_
