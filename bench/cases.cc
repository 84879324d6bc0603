// SPDX-License-Identifier: Apache-2.0
#include "bench/cases.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/units.h"
#include "collectives/collective.h"
#include "yaml-cpp/yaml.h"

namespace copse::bench {
namespace {

std::map<std::string, std::string> EnvironmentOf(const YAML::Node& map, std::map<std::string, std::string> outer = {}) {
  if (map["environment"]) return TextsOf(map["environment"], outer);
  return outer;
}

std::vector<std::string> WordsOf(const Words& line, const std::string& key) {
  return absl::StrSplit(TextOf(line, key), ' ', absl::SkipEmpty());
}

std::vector<SystemSpec> SystemsOf(const YAML::Node& list, const std::map<std::string, std::string>& environment) {
  std::vector<SystemSpec> systems;
  for (const YAML::Node& item : list) {
    if (item.IsScalar()) {
      systems.push_back({.name = item.Scalar(), .ranks = item.Scalar(), .environment = environment});
      continue;
    }
    const Words line = TextsOf(item);
    systems.push_back({.name = TextOf(line, "name"),
                       .ranks = TextOf(line, "ranks", TextOf(line, "name")),
                       .algorithm = TextOf(line, "algorithm"),
                       .transport = TextOf(line, "transport"),
                       .words = WordsOf(line, "words"),
                       .environment = EnvironmentOf(item, environment)});
  }
  return systems;
}

std::string NoteOf(const Contest& contest) {
  if (contest.testbed.latency > absl::ZeroDuration()) return "one way from node to node";
  if (contest.busy) return "beside 2 compute-bound processes: MPI polls, Copse sleeps";
  return contest.testbed.nodes * contest.ppn > 2 ? "more ranks than cores: MPI polls, Copse sleeps" : "";
}

Case CaseOf(const Contest& contest, const Words& line) {
  const std::string collective = TextOf(line, "collective");
  Case made = {.row = {.bench = contest.bench,
                       .what = TextOf(line, "case"),
                       .collective = collective,
                       .nodes = static_cast<uint32_t>(NumberOf(line, "nodes", contest.testbed.nodes)),
                       .ppn = static_cast<uint32_t>(NumberOf(line, "ppn", contest.ppn)),
                       .bytes = BytesOf(line, "size"),
                       .metric = TextOf(line, "metric"),
                       .unit = TextOf(line, "unit"),
                       .note = TextOf(line, "note", NoteOf(contest))},
               .line = line};
  made.cell = {.mode = TextOf(line, "mode"),
               .collective = TextOf(line, "cell", collective),
               .bytes = line.contains("argument") ? BytesOf(line, "argument") : made.row.bytes,
               .words = WordsOf(line, "words")};
  const auto known = CollectiveFromName(made.cell.collective);
  if (known && IsIrregular(*known) && made.cell.words.empty()) made.cell.words = {"random"};
  return made;
}

Contest ContestOf(const std::string& bench, const Words& line) {
  Contest contest = {.bench = bench, .line = line};
  contest.testbed.nodes = static_cast<uint32_t>(NumberOf(line, "nodes", 1));
  contest.testbed.latency = DurationOf(line, "fabric");
  contest.testbed.loopback = line.contains("loopback");
  if (line.contains("rate")) {
    const absl::StatusOr<double> rate = ParseBandwidth(line.at("rate"));
    CHECK(rate.ok());
    contest.testbed.rate_bits_per_s = static_cast<int64_t>(*rate * 8);
  }
  contest.ppn = static_cast<uint32_t>(NumberOf(line, "ppn", 1));
  contest.busy = TextOf(line, "load") == "busy";
  contest.options = {.runs = static_cast<uint32_t>(NumberOf(line, "runs", 1)),
                     .unfinished_max = static_cast<uint32_t>(NumberOf(line, "unfinished_max", 2)),
                     .time_max = DurationOf(line, "peer_time", absl::InfiniteDuration()),
                     .ratios_to_first = line.contains("ratios_to_first"),
                     .differences = line.contains("differences")};
  contest.rank_options = {.budget = DurationOf(line, "budget"),
                          .calls_max = static_cast<uint32_t>(NumberOf(line, "calls")),
                          .start_timeout = DurationOf(line, "start_time", absl::Seconds(60))};
  return contest;
}

// Returns a map with the keys of all, of which the first that has a key counts; if `quick`, the keys under their
// `quick` replace others.
YAML::Node Merged(const std::vector<YAML::Node>& layers, bool quick) {
  YAML::Node merged;
  const auto add = [&merged](const YAML::Node& layer) {
    for (const auto& item : layer) {
      if (!std::as_const(merged)[item.first.Scalar()]) merged[item.first.Scalar()] = item.second;
    }
  };
  if (quick) {
    for (const YAML::Node& layer : layers) add(layer["quick"]);
  }
  for (const YAML::Node& layer : layers) add(layer);
  return merged;
}

void AddContests(const YAML::Node& map, const std::string& bench, std::vector<Contest>* contests) {
  const Words common = TextsOf(map);
  const auto rank_bytes_max =
      common.contains("rank_bytes_max") ? BytesOf(common, "rank_bytes_max") : std::numeric_limits<uint64_t>::max();
  for (const YAML::Node& group : map["groups"]) {
    for (const Words& line : LinesOf(group, common, {map})) {
      Contest& contest = contests->emplace_back(ContestOf(bench, line));
      contest.systems = SystemsOf(map["systems"], EnvironmentOf(group));
      for (const YAML::Node& pair : map["pairs"]) {
        contest.options.pairs.emplace_back(pair[0].Scalar(), pair[1].Scalar());
      }
      for (const YAML::Node& each : map["cases"]) {
        for (const Words& of_case : LinesOf(each, line, {group, map})) {
          const Case made = CaseOf(contest, of_case);
          const uint32_t ranks = contest.testbed.nodes * contest.ppn;
          if (RankBytes(made.row.collective, made.row.bytes, ranks) <= rank_bytes_max) contest.cases.push_back(made);
        }
      }
    }
  }
  if (!map["groups"]) contests->push_back({.bench = bench, .line = common});
}

}  // namespace

absl::StatusOr<std::vector<Benchmark>> LoadBenchmarks(bool quick) {
  ASSIGN_OR_RETURN(const YAML::Node file, LoadData("bench/cases.yaml"));
  std::vector<Benchmark> benchmarks;
  for (const YAML::Node& map : file["benchmarks"]) {
    Benchmark& benchmark = benchmarks.emplace_back();
    benchmark.name = map["name"].Scalar();
    benchmark.summary = map["summary"].Scalar();
    const YAML::Node& defaults = file["defaults"];
    if (!map["contests"]) AddContests(Merged({map, defaults}, quick), benchmark.name, &benchmark.contests);
    for (const YAML::Node& contest : map["contests"]) {
      AddContests(Merged({contest, map, defaults}, quick), benchmark.name, &benchmark.contests);
    }
  }
  return benchmarks;
}

uint64_t RankBytes(const std::string& collective, uint64_t bytes, uint32_t ranks) {
  const auto known = CollectiveFromName(collective);
  if (!known) return 0;
  const CollectiveTraits& traits = TraitsOf(*known);
  uint64_t blocks = 0;
  for (const BufferKind kind : {traits.send, traits.receive}) blocks += kind == BufferKind::kBlocks ? ranks : 1;
  return (HoldsBlocks(*known) ? blocks - 1 : 2) * bytes;
}

}  // namespace copse::bench
