// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/ids.h"

namespace copse::planner {

PathStep CostTrace::StepOf(const Span& span) const {
  PathStep step;
  step.start_ns = span.start;
  step.end_ns = span.end;
  if (span.actor >= shape_.node_count()) {
    step.rank = Rank(span.actor - shape_.node_count());
    step.node = shape_.NodeOf(*step.rank);
  } else {
    step.node = NodeIndex(span.actor);
  }
  const auto rank_here = [&] { return shape_.RanksOf(step.node)[span.peer].value(); };
  switch (span.doing) {
    case Doing::kPost:
      step.what = "post";
      break;
    case Doing::kPickUp:
      step.what = "pick up";
      break;
    case Doing::kWake:
      step.what = "wake";
      break;
    case Doing::kTakeRank:
      step.what = absl::StrCat("take rank ", rank_here());
      break;
    case Doing::kArm:
      step.what = "arm";
      break;
    case Doing::kReceive:
      step.what = "receive";
      step.peer = NodeIndex(span.peer);
      break;
    case Doing::kReduce:
      step.what = "reduce";
      break;
    case Doing::kCopy:
      step.what = "copy";
      break;
    case Doing::kSend:
      step.what = "send";
      step.peer = NodeIndex(span.peer);
      break;
    case Doing::kDeliver:
      step.what = absl::StrCat("deliver to rank ", rank_here());
      break;
    case Doing::kTransfer:
      step.what = "transfer";
      step.peer = NodeIndex(span.peer);
      break;
  }
  return step;
}

std::vector<PathStep> CostTrace::PathTo(uint32_t last) const {
  std::vector<PathStep> path;
  for (uint32_t at = last; at != kNoSpan; at = spans_[at].cause) path.push_back(StepOf(spans_[at]));
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<PathStep> CostTrace::Timeline() const {
  std::vector<PathStep> steps;
  for (const Span& span : spans_) {
    // A transfer is not an actor's work, and many steps take no time.
    if (span.doing != Doing::kTransfer && span.end > span.start) steps.push_back(StepOf(span));
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const PathStep& a, const PathStep& b) { return a.start_ns < b.start_ns; });
  return steps;
}

}  // namespace copse::planner
