// SPDX-License-Identifier: Apache-2.0
//
// Expectations of scenarios about outcomes. Reports through gtest.
#ifndef COPSE_INTEGRATION_TESTS_SCENARIOS_EXPECTATIONS_H_
#define COPSE_INTEGRATION_TESTS_SCENARIOS_EXPECTATIONS_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "integration_tests/scenarios/scenarios.h"

namespace copse::scenario {

// Limit for operations that must not take long; real machines are slow and shared.
inline constexpr absl::Duration kPatience = absl::Seconds(60);

void ExpectOk(const absl::Status& status);
// Waits for the ends of all processes, then returns their outcomes.
std::vector<std::vector<Outcome>> AwaitAll(Cluster* cluster, uint32_t first, uint32_t count);
// Expects that they have succeeded, with right data, in all they did: `outcomes` times each, unless that is 0.
void ExpectAllDone(Cluster* cluster, uint32_t first, uint32_t count, const std::string& what, size_t outcomes = 0);
// Expects success with right data, or `failure` with a text that names all of `things`.
void ExpectOutcome(const Outcome& outcome, schedule::Failure failure, const std::vector<std::string>& things,
                   const std::string& what);
// Expects, after a fault, that every outcome is success with right data, or a failure that names `things`.
void ExpectSuccessThenFailure(const std::vector<Outcome>& outcomes, const std::set<schedule::Failure>& allowed,
                              const std::vector<std::string>& things, const std::string& what);
// Expects that the cluster still works: a new team over `placement` makes a few calls.
void ExpectWorks(Cluster* cluster, const std::string& name, const Placement& placement);

}  // namespace copse::scenario

#endif  // COPSE_INTEGRATION_TESTS_SCENARIOS_EXPECTATIONS_H_
