// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/state/commit_outcomes.h"

#include <algorithm>

#include "base/log.h"
#include "base/units.h"

namespace copse::coordinator {
namespace {

constexpr absl::Duration kComplainEvery = absl::Minutes(1);

}  // namespace

void CommitOutcomes::Succeed(size_t changes) {
  times_ns_.Record(static_cast<uint64_t>(std::max<int64_t>(absl::ToInt64Nanoseconds(clock_->Now() - began_), 0)));
  if (!error_.ok()) COPSE_LOG(kInfo, "the planner's decisions are stored again (changes=", changes, ")");
  error_ = absl::OkStatus();
  fails_since_ = absl::InfiniteFuture();
}

void CommitOutcomes::Fail(const absl::Status& status, size_t changes) {
  ++failures_;
  const absl::Time now = clock_->Now();
  fails_since_ = std::min(fails_since_, now);
  const bool is_new = status.message() != error_.message();
  error_ = status;
  if (!is_new && now - complained_ < kComplainEvery) return;
  complained_ = now;
  COPSE_LOG(kError, "the planner's decisions cannot be stored, and wait (changes=", changes,
            ", for=", FormatShortDuration(now - fails_since_), "): ", status.message());
}

absl::Duration CommitOutcomes::failing_for() const {
  return std::max(clock_->Now() - fails_since_, absl::ZeroDuration());
}

}  // namespace copse::coordinator
