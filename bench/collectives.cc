// SPDX-License-Identifier: Apache-2.0
#include "bench/collectives.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "bench/better_mpi.h"
#include "bench/rank_contest.h"
#include "bench/site.h"

namespace copse::bench {
namespace {

using Reporter = std::function<void(const Row&)>;

constexpr uint64_t kKiB = 1024, kMiB = 1024 * kKiB;
constexpr uint64_t kRankBytesMax = 64 * kMiB;
constexpr uint64_t kLong = 256 * kKiB;  // from here on links are what counts, if they are shaped
constexpr int64_t kGigabit = 1'000'000'000;

// Irregular ones have blocks of any length from 0 to twice the mean.
const char* const kCollectives[] = {"barrier",   "bcast",      "reduce",         "allreduce",      "gather", "scatter",
                                    "allgather", "alltoall",   "reduce_scatter", "scan",           "exscan", "gatherv",
                                    "scatterv",  "allgatherv", "alltoallv",      "reduce_scatterv"};

struct Group {
  uint32_t nodes;
  uint32_t ppn;
  int64_t rate_bits_per_s;  // 0: unshaped
  std::vector<uint64_t> sizes;
};

std::vector<Group> Groups(bool quick) {
  if (quick) return {{2, 2, 0, {8, 64 * kKiB}}, {2, 1, kGigabit, {kLong}}};
  return {{8, 8, 0, {8, kKiB, 64 * kKiB, kMiB}}, {4, 4, kGigabit, {8, kKiB, 64 * kKiB, kLong, kMiB}}};
}

std::string LinksOf(const Group& group) { return group.rate_bits_per_s > 0 ? "shaped 1 Gbit/s" : "unshaped"; }

bool IsIrregular(const std::string& collective) { return collective.back() == 'v'; }

// By size, so that what takes longest comes last.
std::vector<RankCase> Cases(const Group& group) {
  std::vector<RankCase> cases = {{"barrier, " + LinksOf(group), {"latency", "barrier", 0}}};
  for (const uint64_t bytes : group.sizes) {
    for (const std::string collective : kCollectives) {
      if (collective == "barrier" || !FitsRank(collective, bytes, group.nodes * group.ppn)) continue;
      RankCase each = {absl::StrCat(collective, " ", SizeName(bytes), ", ", LinksOf(group)),
                       {"latency", collective, bytes}};
      if (IsIrregular(collective)) each.cell.words = {"random"};
      cases.push_back(each);
    }
  }
  return cases;
}

uint32_t Libraries(const Options& options, const RankContest& contest) {
  uint32_t libraries = 0;
  for (const std::string& system : contest.systems) libraries += IsMpi(system) && WantedSystem(options, system);
  return libraries;
}

// Shaped: of long messages. The rest says what processors do, which the other group does better.
void ReportStanding(const Group& group, const Standing& standing, const Reporter& report) {
  const bool shaped = group.rate_bits_per_s > 0;
  Row blank;
  blank.bench = "collectives";
  blank.what = (shaped ? "all from 256 KiB, " : "all, ") + LinksOf(group);
  blank.system = "copse";
  blank.nodes = group.nodes;
  blank.ppn = group.ppn;
  for (const Row& row : RowsOf(standing, blank)) report(row);
}

absl::Status RunGroup(const Options& options, const Group& group, const Reporter& report) {
  RankContest contest;
  contest.bench = "collectives";
  contest.metric = "latency";
  contest.unit = "us";
  contest.ppn = group.ppn;
  contest.systems = {"copse", "openmpi", "mpich"};
  contest.cases = Cases(group);
  contest.note = group.rate_bits_per_s > 0 ? "" : "more ranks than cores: MPI polls, Copse sleeps";
  contest.runs = options.quick ? 1 : 3;
  contest.budget = absl::Milliseconds(options.quick ? 30 : 200);
  contest.calls_max = 200;
  contest.peer_time_max = absl::Minutes(2);
  contest.unfinished_max = 4;
  if (!AnyWanted(options, contest, group.nodes)) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const auto site,
      Site::Open({.nodes = group.nodes, .parent = options.folder, .rate_bits_per_s = group.rate_bits_per_s}));
  Standing standing;
  const auto take = WithBetterMpi(Libraries(options, contest), [&](const Row& row) {
    report(row);
    if (group.rate_bits_per_s == 0 || row.bytes >= kLong) Count(row, "copse", kBetterMpi, &standing);
  });
  RETURN_IF_ERROR(RunRankContest(options, contest, site.get(), take));
  ReportStanding(group, standing, report);
  return absl::OkStatus();
}

}  // namespace

std::string SizeName(uint64_t bytes) {
  if (bytes >= kMiB && bytes % kMiB == 0) return absl::StrCat(bytes / kMiB, " MiB");
  if (bytes >= kKiB && bytes % kKiB == 0) return absl::StrCat(bytes / kKiB, " KiB");
  return absl::StrCat(bytes, " B");
}

bool FitsRank(const std::string& collective, uint64_t bytes, uint32_t ranks) {
  uint64_t blocks = 2;  // one sent, one received
  if (collective.find("alltoall") == 0) {
    blocks = 2 * ranks - 1;
  } else if (collective.find("gather") != std::string::npos || collective.find("scatter") != std::string::npos) {
    blocks = ranks;
  }
  return blocks * bytes <= kRankBytesMax;
}

absl::Status RunCollectives(const Options& options, const Reporter& report) {
  for (const Group& group : Groups(options.quick)) RETURN_IF_ERROR(RunGroup(options, group, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
