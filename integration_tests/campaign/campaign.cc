// SPDX-License-Identifier: Apache-2.0
#include "integration_tests/campaign/campaign.h"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/clock.h"
#include "base/status_macros.h"

namespace copse::campaign {
namespace {

constexpr absl::Duration kReportEvery = absl::Seconds(10);

void Report(const Case& c, const CampaignOptions& options, const Findings& findings) {
  std::fprintf(stderr, "FAILED %s %s\n", options.clusters.c_str(), Describe(c).c_str());
  for (const std::string& complaint : findings.complaints) std::fprintf(stderr, "  %s\n", complaint.c_str());
  std::fprintf(stderr, "  again: tools/campaign --%s 1 --seed %llu\n", options.clusters.c_str(),
               static_cast<unsigned long long>(c.seed));
}

// The running case, for a crash of simulated daemons, which crashes this process.
std::string& CrashNote() {
  static auto& note = *new std::string;
  return note;
}

void OnCrash(int number) {
  const std::string& note = CrashNote();
  if (write(STDERR_FILENO, note.data(), note.size()) < 0) _exit(128 + number);
  raise(number);  // the default action
}

void NoteCrashes() {
  struct sigaction action = {};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_RESETHAND;
  for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) sigaction(number, &action, nullptr);
}

}  // namespace

void Tally::Add(const Findings& findings) {
  ++cases;
  failed += !findings.complaints.empty();
  programs += findings.programs;
  ended_well += findings.ended_well;
  calls += findings.calls;
  for (const auto& [kind, state] : findings.faults) ++faults[static_cast<int>(kind)][static_cast<int>(state)];
}

bool EnoughEndedWell(const Tally& tally) {
  return tally.cases < 100 || static_cast<double>(tally.ended_well) >= 0.7 * static_cast<double>(tally.programs);
}

absl::Status RunCampaign(const CampaignOptions& options, const Scale& scale, const MakeCluster& make_cluster,
                         const Ledger& ledger, Tally* tally) {
  const MonotonicClock clock;
  const absl::Time start = clock.Now();
  LedgerRow row{.commit = options.commit,
                .cluster = options.clusters,
                .shard = absl::StrCat(options.shard + 1, "/", options.shards)};
  ASSIGN_OR_RETURN(const uint64_t next, ledger.NextSeed(row, options.first_seed));
  const LedgerRow empty = row;
  NoteCrashes();
  absl::Time reported = start;
  const auto report = [&](absl::Time now) -> absl::Status {
    if (row.cases == 0) return absl::OkStatus();
    row.seconds = absl::ToDoubleSeconds(now - reported);
    RETURN_IF_ERROR(ledger.Append(row));
    std::fprintf(stderr, "%s: seed %llu, cases=%llu failed=%llu programs=%llu well=%llu calls=%llu (%.0f s)\n",
                 options.clusters.c_str(), static_cast<unsigned long long>(row.last_seed),
                 static_cast<unsigned long long>(tally->cases), static_cast<unsigned long long>(tally->failed),
                 static_cast<unsigned long long>(tally->programs), static_cast<unsigned long long>(tally->ended_well),
                 static_cast<unsigned long long>(tally->calls), absl::ToDoubleSeconds(now - start));
    row = empty;
    reported = now;
    return absl::OkStatus();
  };
  for (uint64_t i = options.shard; i < options.cases; i += options.shards) {
    const uint64_t seed = options.first_seed + i;
    if (seed < next) continue;
    if (clock.Now() - start >= options.time_max) break;
    const Case c = MakeCase(seed, scale);
    CrashNote() = absl::StrCat("CRASHED ", options.clusters, " ", Describe(c), "\n");
    const std::unique_ptr<scenario::Cluster> cluster = make_cluster(c);
    const Findings findings = Conduct(c, scale, cluster.get());
    tally->Add(findings);
    if (!findings.complaints.empty()) Report(c, options, findings);
    if (row.cases++ == 0) row.first_seed = seed;
    row.last_seed = seed;
    row.failed += !findings.complaints.empty();
    row.programs += findings.programs;
    row.ended_well += findings.ended_well;
    row.calls += findings.calls;
    if (const absl::Time now = clock.Now(); now - reported >= kReportEvery) RETURN_IF_ERROR(report(now));
  }
  return report(clock.Now());
}

std::string FormatCoverage(const Tally& tally) {
  std::string text = absl::StrFormat("%-18s", "faults made");
  for (int s = 0; s < kStateCount; ++s) absl::StrAppendFormat(&text, "%11s", StateName(static_cast<State>(s)));
  for (int k = 0; k < kFaultKindCount; ++k) {
    absl::StrAppendFormat(&text, "\n%-18s", FaultKindName(static_cast<FaultKind>(k)));
    for (int s = 0; s < kStateCount; ++s) absl::StrAppendFormat(&text, "%11d", tally.faults[k][s]);
  }
  return text;
}

std::string FormatJson(const Tally& tally) {
  std::string text =
      absl::StrFormat(R"({"cases": %d, "failed": %d, "programs": %d, "ended_well": %d, "calls": %d, "faults": {)",
                      tally.cases, tally.failed, tally.programs, tally.ended_well, tally.calls);
  for (int k = 0; k < kFaultKindCount; ++k) {
    absl::StrAppend(&text, k == 0 ? "" : ", ", "\"", FaultKindName(static_cast<FaultKind>(k)), "\": {");
    for (int s = 0; s < kStateCount; ++s) {
      absl::StrAppendFormat(&text, "%s\"%s\": %d", s == 0 ? "" : ", ", StateName(static_cast<State>(s)),
                            tally.faults[k][s]);
    }
    absl::StrAppend(&text, "}");
  }
  return absl::StrCat(text, "}}");
}

}  // namespace copse::campaign
