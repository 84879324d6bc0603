// SPDX-License-Identifier: Apache-2.0
#include "planner/pricing/cost_trace.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/ids.h"

namespace copse::planner {

namespace {

enum class PeerKind { kNone, kNode, kRank };
// The table gives, by Doing, the name in a PathStep and the kind of the span's peer.
constexpr struct {
  const char* what;
  PeerKind peer;
} kDoings[] = {{"post", PeerKind::kNone},    {"pick up", PeerKind::kNone},
               {"wake", PeerKind::kNone},    {"take rank ", PeerKind::kRank},
               {"arm", PeerKind::kNone},     {"receive", PeerKind::kNode},
               {"reduce", PeerKind::kNone},  {"copy", PeerKind::kNone},
               {"send", PeerKind::kNode},    {"deliver to rank ", PeerKind::kRank},
               {"transfer", PeerKind::kNode}};

}  // namespace

PathStep CostTrace::StepOf(const Span& span) const {
  const auto& [what, peer] = kDoings[static_cast<size_t>(span.doing)];
  PathStep step{.what = what, .start_ns = span.start, .end_ns = span.end};
  if (span.actor >= shape_.node_count()) {
    step.rank = Rank(span.actor - shape_.node_count());
    step.node = shape_.NodeOf(*step.rank);
  } else {
    step.node = NodeIndex(span.actor);
  }
  if (peer == PeerKind::kNode) step.peer = NodeIndex(span.peer);
  if (peer == PeerKind::kRank) absl::StrAppend(&step.what, shape_.RanksOf(step.node)[span.peer].value());
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
