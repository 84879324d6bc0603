// SPDX-License-Identifier: Apache-2.0
#include "testbed/script/script.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/string_view.h"

namespace copse::scenario {
namespace {

constexpr size_t kFields = 19;

// Names and texts stand at the end of a line, so only line breaks need care.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

int64_t Nanoseconds(absl::Duration d) { return d == absl::InfiniteDuration() ? -1 : absl::ToInt64Nanoseconds(d); }
absl::Duration FromNanoseconds(int64_t ns) { return ns < 0 ? absl::InfiniteDuration() : absl::Nanoseconds(ns); }

template <typename T>
bool Parse(absl::string_view text, T* value) {
  uint64_t wide = 0;
  if (!absl::SimpleAtoi(text, &wide)) return false;
  *value = static_cast<T>(wide);
  return static_cast<uint64_t>(*value) == wide;
}

template <typename T>
bool ParseList(absl::string_view text, std::vector<T>* list) {
  if (text.empty()) return true;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    list->emplace_back();
    if (!Parse(part, &list->back())) return false;
  }
  return true;
}

}  // namespace

std::string FormatStep(const Step& s) {
  return absl::StrCat(static_cast<int>(s.kind), "\t", s.team, "\t", s.rank, "\t", s.size, "\t", s.parent, "\t",
                      absl::StrJoin(s.members, ","), "\t", static_cast<int>(s.arguments.collective), "\t",
                      static_cast<int>(s.arguments.type), "\t", static_cast<int>(s.arguments.op), "\t",
                      s.arguments.count, "\t", s.arguments.root, "\t", s.in_place ? 1 : 0, "\t", s.seed, "\t",
                      Nanoseconds(s.pause), "\t", Nanoseconds(s.timeout), "\t", static_cast<int>(s.arguments.options),
                      "\t", absl::StrJoin(s.counts, ","), "\t", s.displaced ? 1 : 0, "\t", OneLine(s.name));
}

absl::StatusOr<Step> ParseStep(std::string_view line) {
  const std::vector<absl::string_view> f = absl::StrSplit(AbslView(line), '\t');
  if (f.size() != kFields)
    return absl::InvalidArgumentError(absl::StrCat("step: fields (fields=", f.size(), ", limit=", kFields, ")"));
  Step s;
  uint32_t kind = 0, collective = 0, type = 0, op = 0, in_place = 0, options = 0, displaced = 0;
  int64_t pause = 0, timeout = 0;
  const bool ok = Parse(f[0], &kind) && Parse(f[1], &s.team) && Parse(f[2], &s.rank) && Parse(f[3], &s.size) &&
                  Parse(f[4], &s.parent) && Parse(f[6], &collective) && Parse(f[7], &type) && Parse(f[8], &op) &&
                  Parse(f[9], &s.arguments.count) && Parse(f[10], &s.arguments.root) && Parse(f[11], &in_place) &&
                  Parse(f[12], &s.seed) && absl::SimpleAtoi(f[13], &pause) && absl::SimpleAtoi(f[14], &timeout) &&
                  Parse(f[15], &options) && Parse(f[17], &displaced) && ParseList(f[5], &s.members) &&
                  ParseList(f[16], &s.counts);
  if (!ok) return absl::InvalidArgumentError(absl::StrCat("step: malformed: ", AbslView(line)));
  s.kind = static_cast<StepKind>(kind);
  s.arguments.collective = static_cast<Collective>(collective);
  s.arguments.type = static_cast<ElementType>(type);
  s.arguments.op = static_cast<ElementOp>(op);
  s.arguments.options = static_cast<uint8_t>(options);
  s.in_place = in_place == 1;
  s.displaced = displaced == 1;
  s.pause = FromNanoseconds(pause);
  s.timeout = FromNanoseconds(timeout);
  s.name = std::string(f[18]);
  return s;
}

Outcome OutcomeOf(const schedule::FailureReport& why) {
  return {.failure = why.failure, .text = why.text, .cause = schedule::CauseOf(why), .node = why.node};
}

std::string FormatOutcome(size_t step, const Outcome& o) {
  return absl::StrCat(step, "\t", static_cast<int>(o.failure), "\t", o.data_ok ? 1 : 0, "\t", static_cast<int>(o.cause),
                      "\t", OneLine(o.node), "\t", OneLine(o.text));
}

absl::StatusOr<NumberedOutcome> ParseOutcome(std::string_view line) {
  const std::vector<absl::string_view> f = absl::StrSplit(AbslView(line), absl::MaxSplits('\t', 5));
  uint32_t failure = 0, data_ok = 0, cause = 0;
  NumberedOutcome numbered;
  if (f.size() != 6 || !Parse(f[0], &numbered.step) || !Parse(f[1], &failure) || !Parse(f[2], &data_ok) ||
      !Parse(f[3], &cause)) {
    return absl::InvalidArgumentError(absl::StrCat("outcome: malformed: ", AbslView(line)));
  }
  numbered.outcome = {static_cast<schedule::Failure>(failure), std::string(f[5]), data_ok == 1,
                      static_cast<schedule::FailureCause>(cause), std::string(f[4])};
  return numbered;
}

Step TeamStep(uint32_t team, std::string name, uint32_t rank, uint32_t size) {
  return {.kind = StepKind::kTeam, .team = team, .name = std::move(name), .rank = rank, .size = size};
}
Step CallStep(uint32_t team, const CallArguments& arguments, uint64_t seed) {
  return {.kind = StepKind::kCall, .team = team, .arguments = arguments, .seed = seed};
}
Step PostStep(uint32_t team, const CallArguments& arguments, uint64_t seed) {
  return {.kind = StepKind::kPost, .team = team, .arguments = arguments, .seed = seed};
}
Step AwaitStep() { return {.kind = StepKind::kAwait}; }
Step DestroyStep(uint32_t team) { return {.kind = StepKind::kDestroy, .team = team}; }
Step PauseStep(absl::Duration pause) { return {.kind = StepKind::kPause, .pause = pause}; }

}  // namespace copse::scenario
