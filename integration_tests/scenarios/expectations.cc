// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/scenarios/expectations.h"

#include "absl/strings/str_cat.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::scenario {

using copse::testing::NamesMatcher;
using schedule::Failure;

void ExpectOk(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

std::vector<std::vector<Outcome>> AwaitAll(Cluster* cluster, uint32_t first, uint32_t count) {
  std::vector<std::vector<Outcome>> all;
  for (uint32_t p = first; p < first + count; ++p) {
    ExpectOk(cluster->AwaitEnd(p, kPatience));
    all.push_back(cluster->Outcomes(p));
  }
  return all;
}

void ExpectAllDone(Cluster* cluster, uint32_t first, uint32_t count, const std::string& what, size_t outcomes) {
  for (const std::vector<Outcome>& of_one : AwaitAll(cluster, first, count)) {
    if (outcomes != 0) {
      EXPECT_EQ(of_one.size(), outcomes) << what;
    }
    for (const Outcome& outcome : of_one) ExpectOutcome(outcome, Failure::kNone, {}, what);
  }
}

void ExpectOutcome(const Outcome& outcome, Failure failure, const std::vector<std::string>& things,
                   const std::string& what) {
  EXPECT_EQ(outcome.failure, failure) << what << ": " << outcome.text;
  EXPECT_TRUE(outcome.data_ok) << what;
  EXPECT_THAT(outcome.text, NamesMatcher(things)) << what;
}

void ExpectSuccessThenFailure(const std::vector<Outcome>& outcomes, const std::set<Failure>& allowed,
                              const std::vector<std::string>& things, const std::string& what) {
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_TRUE(outcomes[i].data_ok) << what << " outcome " << i;
    if (outcomes[i].failure == Failure::kNone) continue;
    EXPECT_TRUE(allowed.contains(outcomes[i].failure)) << what << " outcome " << i << ": " << outcomes[i].text;
    EXPECT_THAT(outcomes[i].text, NamesMatcher(things)) << what << " outcome " << i;
  }
}

void ExpectWorks(Cluster* cluster, const std::string& name, const Placement& placement) {
  const CallArguments sum{.collective = Collective::kAllreduce, .type = ElementType::kDouble, .count = 6};
  ExpectAllSucceed(cluster, TeamPrograms(name, placement, {{.collective = Collective::kBarrier}, sum, sum}, 900),
                   kPatience);
}

}  // namespace copse::scenario
