// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/calls/rank_arguments.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/string_view.h"

namespace copse::daemon {

using schedule::Failure;
using schedule::FailureReport;

FailureReport MismatchReport(uint64_t call, const RankArguments& a, std::string_view node_a, const RankArguments& b,
                             std::string_view node_b) {
  if (b.rank < a.rank) return MismatchReport(call, b, node_b, a, node_a);
  return {Failure::kMismatch,
          absl::StrCat("call ", call, ": arguments differ: rank ", a.rank.value(), " on node ", AbslView(node_a),
                       " gave ", DescribeArguments(a.arguments), "; rank ", b.rank.value(), " on node ",
                       AbslView(node_b), " gave ", DescribeArguments(b.arguments)),
          FailureCause::kRanksDiffer, std::string(node_b), b.rank};
}

}  // namespace copse::daemon
