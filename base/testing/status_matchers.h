// SPDX-License-Identifier: Apache-2.0
//
// Matchers of statuses, and of errors: the code, and the names in the message with their values. Wording stays free to
// improve.
//
//   EXPECT_THAT(ParseHostlist("n["), FailsWith(absl::StatusCode::kInvalidArgument, "position=1"));
//   EXPECT_THAT(log, Names("node=n3", "silence_ms=10000"));
//   EXPECT_THAT(cluster.Start({.nodes = 2}), IsOk());
#ifndef COPSE_BASE_TESTING_STATUS_MATCHERS_H_
#define COPSE_BASE_TESTING_STATUS_MATCHERS_H_

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/string_view.h"
#include "gmock/gmock.h"

namespace copse::testing {

// Whether `text` has `thing` on its own: "ranks=2" is not in "ranks=23", nor in "local_ranks=2".
inline bool NamesThing(std::string_view text, std::string_view thing) {
  const auto is_inside = [](char c) {
    return c == '_' || c == '-' || ('0' <= c && c <= '9') || ('a' <= (c | 32) && (c | 32) <= 'z');
  };
  for (size_t at = text.find(thing); at != std::string_view::npos; at = text.find(thing, at + 1)) {
    const size_t end = at + thing.size();
    const bool begins = at == 0 || !is_inside(text[at - 1]) || !is_inside(thing.front());
    const bool ends = end == text.size() || !is_inside(text[end]) || !is_inside(thing.back());
    if (begins && ends) return true;
  }
  return false;
}

// Matches a text that names each of these things.
class NamesMatcher {
 public:
  using is_gtest_matcher = void;
  explicit NamesMatcher(std::vector<std::string> things) : things_(std::move(things)) {}

  bool MatchAndExplain(std::string_view text, std::ostream* why) const {
    for (const std::string& thing : things_) {
      if (NamesThing(text, thing)) continue;
      if (why != nullptr) *why << "which does not name " << thing;
      return false;
    }
    return true;
  }
  void DescribeTo(std::ostream* out) const { Describe("names", out); }
  void DescribeNegationTo(std::ostream* out) const { Describe("does not name all of", out); }

 private:
  void Describe(std::string_view verb, std::ostream* out) const {
    *out << verb;
    for (const std::string& thing : things_) *out << ' ' << ::testing::PrintToString(thing);
  }

  std::vector<std::string> things_;
};

// Matches a text that names each of `things`, which are texts.
template <typename... Things>
NamesMatcher Names(const Things&... things) {
  return NamesMatcher({std::string(things)...});
}

// Matches a Status or StatusOr of this code whose message names each of these things.
class FailsWithMatcher {
 public:
  using is_gtest_matcher = void;
  FailsWithMatcher(absl::StatusCode code, NamesMatcher names) : code_(code), names_(std::move(names)) {}

  bool MatchAndExplain(const absl::Status& status, std::ostream* why) const {
    if (why != nullptr) *why << "which is " << status << " ";
    return status.code() == code_ && names_.MatchAndExplain(StdView(status.message()), why);
  }
  template <typename T>
  bool MatchAndExplain(const absl::StatusOr<T>& result, std::ostream* why) const {
    return MatchAndExplain(result.status(), why);
  }
  void DescribeTo(std::ostream* out) const {
    *out << "fails with " << absl::StatusCodeToString(code_) << " and ";
    names_.DescribeTo(out);
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "does not fail with " << absl::StatusCodeToString(code_) << " or ";
    names_.DescribeNegationTo(out);
  }

 private:
  absl::StatusCode code_;
  NamesMatcher names_;
};

template <typename... Things>
FailsWithMatcher FailsWith(absl::StatusCode code, const Things&... things) {
  return {code, NamesMatcher({std::string(things)...})};
}

// Matches a Status that is OK; another one is shown.
MATCHER(IsOk, "is OK") { return arg.ok(); }

}  // namespace copse::testing

#endif  // COPSE_BASE_TESTING_STATUS_MATCHERS_H_
