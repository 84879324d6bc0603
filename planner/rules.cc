// SPDX-License-Identifier: Apache-2.0
#include "planner/rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "planner/structure.h"

namespace copse::planner {
namespace {

absl::Status CheckRange(const char* what, uint64_t least, uint64_t most, uint64_t bottom, uint64_t top) {
  if (least < bottom || most > top) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": out of range (", what, "_min=", least, ", ", what,
                                                   "_max=", most, ", limit=", bottom, "-", top, ")"));
  }
  if (least > most) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an empty range (", what, "_min=", least, ", ", what, "_max=", most, ")"));
  }
  return absl::OkStatus();
}

absl::Status CheckSegments(const Rule& rule) {
  const uint32_t segment = *rule.segment_bytes;
  const uint32_t longest = schedule::SegmentBytesMax(rule.collective);
  if (segment % schedule::kSegmentUnitBytes != 0 || segment > longest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "segment_bytes: not a multiple of 16 up to the limit (segment_bytes=", segment, ", limit=", longest, ")"));
  }
  if (segment == 0 && rule.bytes_max > longest) {
    return absl::InvalidArgumentError(
        absl::StrCat("segment_bytes: such messages must be cut (bytes_max=", rule.bytes_max, ", limit=", longest, ")"));
  }
  if (segment > 0 &&
      std::min(rule.bytes_max, schedule::kMessageBytesMax) > uint64_t{segment} * schedule::kSegmentsMax) {
    return absl::InvalidArgumentError(absl::StrCat("segment_bytes: too many segments (bytes_max=", rule.bytes_max,
                                                   ", segment_bytes=", segment, ", limit=", schedule::kSegmentsMax,
                                                   ")"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string DescribeRule(const Rule& rule) {
  const Rule plain;
  std::string text = absl::StrCat("{collective: ", AbslView(CollectiveName(rule.collective)));
  if (rule.collective != Collective::kBarrier) {
    if (rule.bytes_min != plain.bytes_min) absl::StrAppend(&text, ", bytes_min: ", rule.bytes_min);
    if (rule.bytes_max != plain.bytes_max) absl::StrAppend(&text, ", bytes_max: ", rule.bytes_max);
  }
  if (rule.ranks_min != plain.ranks_min) absl::StrAppend(&text, ", ranks_min: ", rule.ranks_min);
  if (rule.ranks_max != plain.ranks_max) absl::StrAppend(&text, ", ranks_max: ", rule.ranks_max);
  if (!rule.algorithm.empty()) absl::StrAppend(&text, ", algorithm: ", rule.algorithm);
  if (rule.segment_bytes.has_value()) absl::StrAppend(&text, ", segment_bytes: ", *rule.segment_bytes);
  return text + "}";
}

absl::Status CheckRule(const Rule& rule) {
  if (rule.algorithm.empty() && !rule.segment_bytes.has_value()) {
    return absl::InvalidArgumentError("says nothing: needs algorithm or segment_bytes");
  }
  if (const Collective regular = PlanCollective(rule.collective); regular != rule.collective) {
    return absl::InvalidArgumentError(
        absl::StrCat("has no plans of its own (collective=", AbslView(CollectiveName(rule.collective)),
                     ", runs by those of=", AbslView(CollectiveName(regular)), ")"));
  }
  RETURN_IF_ERROR(CheckRange("bytes", rule.bytes_min, rule.bytes_max, 0, schedule::kCallBytesMax));
  RETURN_IF_ERROR(CheckRange("ranks", rule.ranks_min, rule.ranks_max, 1, kRanksMax));
  if (rule.collective == Collective::kBarrier &&
      (rule.bytes_min > 0 || rule.bytes_max < schedule::kCallBytesMax || rule.segment_bytes.has_value())) {
    return absl::InvalidArgumentError("a barrier has neither bytes nor segments (collective=barrier)");
  }
  if (!rule.algorithm.empty()) RETURN_IF_ERROR(CheckAlgorithm(rule.algorithm, rule.collective));
  return rule.segment_bytes.has_value() ? CheckSegments(rule) : absl::OkStatus();
}

bool Contradict(const Rule& a, const Rule& b) {
  if (a.collective != b.collective || a.bytes_max < b.bytes_min || b.bytes_max < a.bytes_min ||
      a.ranks_max < b.ranks_min || b.ranks_max < a.ranks_min) {
    return false;
  }
  return (!a.algorithm.empty() && !b.algorithm.empty() && a.algorithm != b.algorithm) ||
         (a.segment_bytes.has_value() && b.segment_bytes.has_value() && a.segment_bytes != b.segment_bytes);
}

Ruling RulingFor(absl::Span<const Rule> rules, Collective collective, const SizeClass& size_class, uint32_t ranks) {
  Ruling ruling;
  for (const Rule& rule : rules) {
    if (rule.collective != collective || !rule.IsForTeam(ranks) || rule.bytes_min > size_class.bytes_min ||
        rule.bytes_max < size_class.bytes_max) {
      continue;
    }
    if (!rule.algorithm.empty()) ruling.algorithm = rule.algorithm;
    if (rule.segment_bytes.has_value()) ruling.segment_bytes = rule.segment_bytes;
    ruling.rules.push_back(&rule);
  }
  return ruling;
}

std::vector<SizeClass> CutBySizes(absl::Span<const SizeClass> classes, absl::Span<const Rule> rules,
                                  Collective collective, uint32_t ranks) {
  std::vector<uint64_t> begins;  // lower ends of the new classes
  for (const SizeClass& c : classes) begins.push_back(c.bytes_min);
  const uint64_t end = classes.back().bytes_max + 1;
  for (const Rule& rule : rules) {
    if (rule.collective != collective || !rule.IsForTeam(ranks)) continue;
    for (const uint64_t cut : {rule.bytes_min, rule.bytes_max + 1}) {
      if (cut > classes.front().bytes_min && cut < end) begins.push_back(cut);
    }
  }
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  std::vector<SizeClass> result;
  for (size_t i = 0; i < begins.size(); ++i) {
    result.push_back({begins[i], (i + 1 < begins.size() ? begins[i + 1] : end) - 1});
  }
  return result;
}

}  // namespace copse::planner
