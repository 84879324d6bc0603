// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/random/planner.h"

#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "planner/coordinator/random/world.h"

namespace copse::coordinator {

Planner::Planner(World* world, uint64_t fence) : world(world), fence(fence) {
  plan_maker.later = world->plans_later;
  CoordinatorOptions options = world->coordinator_options;
  options.lost_terms += ++world->starts;
  // Runs without sub-teams keep the steps with which they failed once: there a lost store leaves no new cluster.
  if (world->options.sub_teams) options.fresh_cluster = absl::StrCat("cluster ", world->starts);
  coordinator = std::make_unique<Coordinator>(&world->clock, this, &plan_maker, this, std::move(options));
}

void Planner::Commit(std::vector<StoreChange> changes, std::function<void(const absl::Status&)> done) {
  ASSERT_FALSE(commit.has_value()) << "two commits in flight";
  commit.emplace(InFlight{std::move(changes), std::move(done), std::nullopt});
  if (world->commits_later) return;
  Make();
  Answer();
}

absl::StatusOr<Snapshot> Planner::Load() { return world->snapshot; }

void Planner::Make() {
  if (!world->leads(*this)) {
    commit->outcome = absl::AbortedError("another planner leads");
    return;
  }
  const double dice = world->faults ? world->prng.Unit() : 1;
  commit->outcome = absl::OkStatus();
  if (dice < 0.01) commit->outcome = absl::ResourceExhaustedError("disk full");
  if (dice >= 0.01 && dice < 0.02) commit->outcome = absl::UnavailableError("no answer");
  if (dice >= 0.02 && dice < 0.03) commit->outcome = absl::UnavailableError("the answer is lost");
  if (dice >= 0.03 && dice < 0.08) dead = true;
  if (dice < 0.02) return;
  for (const StoreChange& change : commit->changes) Apply(change, world->snapshot);
}

void Planner::Answer() {
  const InFlight answered = *std::exchange(commit, std::nullopt);
  answered.done(*answered.outcome);
}

bool Planner::ProceedCommit() {
  if (!commit.has_value() || (commit->outcome.has_value() && paused)) return false;
  if (!commit->outcome.has_value()) {
    Make();
  } else {
    Answer();
  }
  return true;
}

void Planner::LoseLead() {
  if (!commit.has_value() || commit->outcome.has_value()) return;
  const double dice = world->prng.Unit();
  if (dice < 0.4) {
    Make();
  } else if (dice < 0.5) {
    const std::vector<StoreChange>& changes = commit->changes;
    const size_t some = world->prng.Below(changes.size());
    for (size_t i = 0; i < some; ++i) Apply(changes[i], world->snapshot);
  }
}

void Planner::Send(SessionId session, const schedule::ToDaemon& message) {
  if (dead) return;
  world->streams.Send(session, message);
  // The planner dies in the middle of a round of messages.
  if (world->faults && world->prng.Chance(0.002)) dead = true;
}

void Planner::Close(SessionId session, const std::string& why) {
  if (!dead) world->streams.Close(session, why);
}

}  // namespace copse::coordinator
