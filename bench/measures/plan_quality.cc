// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "cli/perftest/statistics.h"
#include "planner/algorithms/broadcast_costs.h"
#include "planner/algorithms/lower_bound.h"
#include "planner/algorithms/trees/broadcast_algorithms.h"
#include "planner/topology/generate.h"

namespace copse::bench {
namespace {

// Seeds are 1, 2, ...; the root is node 0, whose place is random.
constexpr uint64_t kShort = 1024, kLong = 102'400;

Row EmptyRow(const std::string& what, uint32_t nodes, uint64_t bytes) {
  return {.bench = "plan-quality",
          .what = what,
          .system = "copse",
          .collective = "bcast",
          .algorithm = "best",
          .nodes = nodes,
          .ppn = 1,
          .bytes = bytes,
          .seed = 1};
}

// Reports the mean of many clusters, and the worst.
void ReportTotals(const std::string& what, uint32_t nodes, uint64_t bytes, const std::vector<double>& ratios,
                  const Reporter& report) {
  if (ratios.empty()) return;
  for (const bool worst : {false, true}) {
    Row row = Figure(EmptyRow(what, nodes, bytes), worst ? "worst" : "mean", "times", ratios);  // for the spread
    row.median = worst ? *std::max_element(ratios.begin(), ratios.end()) : perftest::Mean(ratios);
    row.note = worst ? "the greatest ratio" : "the mean ratio, in place of the median";
    report(row);
  }
}

struct Times {
  double best = 0, mgo = 0, bound = 0, optimal = 0;
};

absl::StatusOr<Times> TimesOf(const std::string& kind, uint32_t nodes, uint64_t seed, uint64_t bytes, bool optimal) {
  ASSIGN_OR_RETURN(const auto topology, topology::GenerateTopology(kind, nodes, seed));
  ASSIGN_OR_RETURN(auto costs, planner::BroadcastCosts::FromTopology(topology, bytes));
  costs.FillMatrix();
  Times times;
  ASSIGN_OR_RETURN(const auto best, planner::BuildBroadcast("best", costs, 0));
  times.best = static_cast<double>(best.completion_ns);
  ASSIGN_OR_RETURN(const auto mgo, planner::BuildBroadcast("MGO", costs, 0));
  times.mgo = static_cast<double>(mgo.completion_ns);
  times.bound = static_cast<double>(planner::LowerBoundNs(costs, 0));
  if (optimal) {
    ASSIGN_OR_RETURN(const auto optimum, planner::BuildBroadcast("OPTIMAL", costs, 0));
    times.optimal = static_cast<double>(optimum.completion_ns);
  }
  return times;
}

absl::Status AgainstTheOptimum(const Options& options, const Reporter& report) {
  const uint32_t seeds = options.quick ? 10 : 200;
  for (const uint64_t bytes : {kShort, kLong}) {
    std::vector<double> all;
    for (const std::string& kind : topology::GeneratedKinds()) {
      for (const uint32_t nodes : {4u, 5u, 6u, 7u}) {
        Row row = EmptyRow(absl::StrFormat("best, cluster \"%s\"", kind), nodes, bytes);
        if (!Wanted(options, row)) continue;
        std::vector<double> ratios, mgo_ratios;
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
          ASSIGN_OR_RETURN(const Times times, TimesOf(kind, nodes, seed, bytes, true));
          ratios.push_back(times.best / times.optimal);
          mgo_ratios.push_back(times.mgo / times.optimal);
        }
        all.insert(all.end(), ratios.begin(), ratios.end());
        row.metric = "ratio";
        row.peer = "optimum";
        Summarize(ratios, &row);
        row.note = absl::StrFormat("mean %.4f, worst %.4f; MGO: mean %.3f, worst %.3f", perftest::Mean(ratios),
                                   *std::max_element(ratios.begin(), ratios.end()), perftest::Mean(mgo_ratios),
                                   *std::max_element(mgo_ratios.begin(), mgo_ratios.end()));
        report(row);
      }
    }
    ReportTotals("best / optimum, 4 to 7 nodes", 7, bytes, all, report);
  }
  return absl::OkStatus();
}

absl::Status AgainstMgo(const Options& options, const Reporter& report) {
  for (const uint64_t bytes : {kShort, kLong}) {
    for (const uint32_t nodes : {64u, 512u}) {
      const uint32_t seeds = options.quick ? 2 : 40;
      std::vector<double> every, first_two;
      for (const std::string& kind : topology::GeneratedKinds()) {
        Row row = EmptyRow(absl::StrFormat("best, cluster \"%s\"", kind), nodes, bytes);
        if (!Wanted(options, row)) continue;
        std::map<std::string, std::vector<double>> ratios;
        for (uint64_t seed = 1; seed <= seeds; ++seed) {
          ASSIGN_OR_RETURN(const Times times, TimesOf(kind, nodes, seed, bytes, false));
          ratios["mgo"].push_back(times.best / times.mgo);
          ratios["lower bound"].push_back(times.best / times.bound);
        }
        const std::vector<double>& mgo = ratios["mgo"];
        every.insert(every.end(), mgo.begin(), mgo.end());
        if (kind != "wan") first_two.insert(first_two.end(), mgo.begin(), mgo.end());
        for (const auto& [peer, values] : ratios) {
          row.metric = "ratio";
          row.peer = peer;
          Summarize(values, &row);
          row.note = absl::StrFormat("mean %.3f, worst %.3f", perftest::Mean(values),
                                     *std::max_element(values.begin(), values.end()));
          report(row);
        }
      }
      ReportTotals("best / MGO, clusters \"mgo\" and \"racks\"", nodes, bytes, first_two, report);
      ReportTotals("best / MGO, all clusters", nodes, bytes, every, report);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunPlanQuality(const Options& options, const Contest&, const Reporter& report) {
  RETURN_IF_ERROR(AgainstTheOptimum(options, report));
  return AgainstMgo(options, report);
}

}  // namespace copse::bench
