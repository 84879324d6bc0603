// SPDX-License-Identifier: Apache-2.0
//
// Runs many cases, one after the other, and sums up their results.
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

// Makes a new cluster for each case.
using MakeCluster = std::function<std::unique_ptr<scenario::Cluster>(const Case&)>;

struct CampaignOptions {
  uint64_t cases = 0;  // total over all shards
  uint64_t first_seed = 0;
  uint64_t shard = 0;  // in [0, shards): cases first_seed + shard, + shards, ...
  uint64_t shards = 1;
  absl::Duration time_max = absl::InfiniteDuration();
  std::string commit = "unknown";
  std::string clusters = "simulated";  // as in the ledger: simulated, real, real-tcp
};

struct Tally {
  uint64_t cases = 0;
  uint64_t failed = 0;
  uint64_t programs = 0;
  uint64_t ended_well = 0;
  uint64_t calls = 0;
  std::array<std::array<uint64_t, kStateCount>, kFaultKindCount> faults = {};  // faults made with a call in flight

  void Add(const Findings& findings);
};
// Whether at least 70 % of the programs ended well, in a hundred cases or more: otherwise the faults leave nothing to
// check.
bool EnoughEndedWell(const Tally& tally);

// Runs cases and reports progress and failures on standard error. Adds to `*tally`. An error is the ledger's.
absl::Status RunCampaign(const CampaignOptions& options, const Scale& scale, const MakeCluster& make_cluster,
                         const Ledger& ledger, Tally* tally);

// Formats a table of kinds and states for people, and an object of JSON.
std::string FormatCoverage(const Tally& tally);
std::string FormatJson(const Tally& tally);

}  // namespace copse::campaign

#endif  // COPSE_INTEGRATION_TESTS_CAMPAIGN_CAMPAIGN_H_
