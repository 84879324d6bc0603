// SPDX-License-Identifier: Apache-2.0
#include "protocol/control.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/failure_of.h"
#include "base/string_view.h"

namespace copse::schedule {

FailureCause CauseOf(const FailureReport& why) {
  return why.cause != FailureCause::kUnknown ? why.cause : UsualCause(why.failure);
}

FailureFacts FactsOf(const FailureReport& why) {
  FailureFacts facts;
  facts.cause = static_cast<uint8_t>(CauseOf(why));
  facts.has_rank = why.rank.has_value() ? 1 : 0;
  facts.rank = why.rank.value_or(Rank{0}).value();
  facts.limit = why.limit;
  memcpy(facts.node, why.node.data(), std::min(why.node.size(), sizeof(facts.node) - 1));
  return facts;
}

FailureReport ReportOf(const absl::Status& status, std::string_view what) {
  return {FailureOf(status.code()),
          absl::StrCat(AbslView(what), what.empty() || status.ok() ? "" : ": ", status.message())};
}

std::string_view CallPartName(CallPart part) {
  constexpr std::string_view kNames[kCallPartCount] = {"call", "ranks", "network"};
  return static_cast<int>(part) < kCallPartCount ? kNames[static_cast<int>(part)] : "unknown";
}

std::string DescribeTeam(const TeamIdentity& identity) {
  std::string text = absl::StrCat("'", identity.name, "'");
  if (IsDerivedTeam(identity)) absl::StrAppend(&text, " (", AbslView(FamilyName(identity.family)), ")");
  if (!identity.job.empty()) absl::StrAppend(&text, " of job ", identity.job);
  absl::StrAppend(&text, " of user ", identity.uid);
  return text;
}

bool HaveSameNodes(const TeamLayout& a, const TeamLayout& b) {
  return std::equal(a.nodes.begin(), a.nodes.end(), b.nodes.begin(), b.nodes.end(),
                    [](const TeamNode& left, const TeamNode& right) {
                      return left.incarnation == right.incarnation && left.name == right.name;
                    });
}

bool IsSameTeam(const TeamLayout& a, const TeamLayout& b) {
  return a.id == b.id && a.identity == b.identity && a.parent == b.parent && a.window == b.window &&
         a.shape == b.shape && HaveSameNodes(a, b);
}

namespace {

constexpr size_t kRankListLengthMax = 60;

}  // namespace

std::string RankRangeList(const std::vector<RankRange>& ranges) {
  std::string out;
  for (const RankRange& range : ranges) {
    const std::string text = range.first == range.last ? absl::StrCat(range.first.value())
                                                       : absl::StrCat(range.first.value(), "-", range.last.value());
    if (out.size() + text.size() > kRankListLengthMax) return out + ",...";
    absl::StrAppend(&out, out.empty() ? "" : ",", text);
  }
  return out;
}

std::string RankList(const std::vector<Rank>& ranks) {
  std::vector<RankRange> ranges;
  for (const Rank rank : ranks) {
    if (ranges.empty() || rank.value() != ranges.back().last.value() + 1) ranges.push_back({rank, rank});
    ranges.back().last = rank;
  }
  return RankRangeList(ranges);
}

std::string DescribeMember(const std::vector<Rank>& ranks, const std::string& node) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (size_t i = 0; i < ranks.size();) {
    size_t j = i;
    while (j + 1 < ranks.size() && ranks[j + 1].value() == ranks[j].value() + 1) ++j;
    absl::StrAppend(&text, i == 0 ? "" : ",", ranks[i].value());
    if (j > i) absl::StrAppend(&text, "-", ranks[j].value());
    i = j + 1;
  }
  return absl::StrCat(text, " on node ", node);
}

}  // namespace copse::schedule
