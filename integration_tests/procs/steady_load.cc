// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/procs/steady_load.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/status_matchers.h"
#include "testbed/script/script.h"

namespace copse::procs {

using copse::testing::IsOk;
using scenario::Outcome;

SteadyLoad::SteadyLoad(ProcessCluster* cluster, const SteadyLoadOptions& options)
    : cluster_(cluster), calls_(options.calls.size()), checked_(options.nodes.size()) {
  std::vector<scenario::Program> programs;
  const auto size = static_cast<uint32_t>(options.nodes.size());
  for (uint32_t rank = 0; rank < size; ++rank) {
    scenario::Program program{.node = options.nodes[rank], .script = {scenario::TeamStep(1, options.team, rank, size)}};
    for (size_t round = 0; round < options.rounds; ++round) {
      for (const CallArguments& call : options.calls) {
        program.script.push_back(scenario::CallStep(1, call, round));
        if (options.pause > absl::ZeroDuration()) program.script.push_back(scenario::PauseStep(options.pause));
      }
    }
    programs.push_back(std::move(program));
  }
  steps_ = 1 + options.rounds * calls_;
  first_ = cluster_->Launch(programs);
}

void SteadyLoad::ExpectProgress(absl::Duration patience) {
  const absl::Time until = cluster_->Now() + patience;
  for (uint32_t rank = 0; rank < checked_.size(); ++rank) {
    const size_t before = cluster_->Outcomes(first_ + rank).size();
    // The first of them may have been under way.
    ASSERT_THAT(cluster_->AwaitOutcomes(first_ + rank, before + calls_ + 1, until - cluster_->Now()), IsOk());
    ASSERT_NO_FATAL_FAILURE(Check(rank));
  }
}

void SteadyLoad::Check(uint32_t rank) {
  const std::vector<Outcome> outcomes = cluster_->Outcomes(first_ + rank);
  EXPECT_LT(outcomes.size(), steps_) << "the program is too short";
  for (size_t i = checked_[rank]; i < outcomes.size(); ++i) {
    ASSERT_EQ(outcomes[i].failure, schedule::Failure::kNone) << "call " << i << ": " << outcomes[i].text;
    ASSERT_TRUE(outcomes[i].data_ok) << "call " << i;
  }
  checked_[rank] = outcomes.size();
}

size_t SteadyLoad::checked() const { return *std::min_element(checked_.begin(), checked_.end()); }

void SteadyLoad::End() {
  for (uint32_t rank = 0; rank < checked_.size(); ++rank) cluster_->KillProcess(first_ + rank);
}

}  // namespace copse::procs
