// SPDX-License-Identifier: Apache-2.0
//
// Many cases, one after the other, and what they add up to.
#ifndef COPSE_INTEGRATION_TESTS_CAMPAIGN_CAMPAIGN_H_
#define COPSE_INTEGRATION_TESTS_CAMPAIGN_CAMPAIGN_H_

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "integration_tests/campaign/conductor.h"
#include "integration_tests/campaign/ledger.h"

namespace copse::campaign {

// A cluster of its own for each case.
using MakeCluster = std::function<std::unique_ptr<scenario::Cluster>(const Case&)>;

struct CampaignOptions {
  uint64_t cases = 0;  // of all shards together
  uint64_t first_seed = 0;
  uint64_t shard = 0;  // in [0, shards): cases first_seed + shard, + shards, ...
  uint64_t shards = 1;
  absl::Duration time_max = absl::InfiniteDuration();
  std::string commit = "unknown";
};

struct Tally {
  uint64_t cases = 0;
  uint64_t failed = 0;
  uint64_t programs = 0;
  uint64_t ended_well = 0;
  uint64_t calls = 0;
  std::array<std::array<uint64_t, kStateCount>, kFaultKindCount> faults = {};  // made with a call in flight

  void Add(const Findings& findings);
};
// At least 70 % of the programs of a hundred cases or more end well: else the faults leave nothing to be wrong.
bool EnoughEndedWell(const Tally& tally);

// Runs cases and says on standard error how far it is and what failed. `*tally` is added to. An error is the ledger's.
absl::Status RunCampaign(const CampaignOptions& options, const Scale& scale, const MakeCluster& make_cluster,
                         const Ledger& ledger, Tally* tally);

// A table of kinds and states for people; an object of JSON.
std::string FormatCoverage(const Tally& tally);
std::string FormatJson(const Tally& tally);

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_CAMPAIGN_H_
