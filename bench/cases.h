// SPDX-License-Identifier: Apache-2.0
//
// Reads bench/cases.yaml: benchmarks that are contests of systems in equal cases, or code.
#ifndef COPSE_BENCH_CASES_H_
#define COPSE_BENCH_CASES_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "bench/bench.h"
#include "bench/contest.h"
#include "bench/data.h"
#include "bench/rank_system.h"
#include "bench/row.h"
#include "bench/testbed.h"

namespace copse::bench {

// A SystemSpec is a system under test (key `systems`): a name, or a map with these keys.
struct SystemSpec {
  std::string name;                                // name in rows
  std::string ranks;                               // system for Testbed::StartRanks; default: the name
  std::string algorithm;                           // algorithm of all of Copse's plans; "": the planner's choice
  std::string transport;                           // of the daemons (TestbedOptions::transport)
  std::vector<std::string> words;                  // added to the words of each cell
  std::map<std::string, std::string> environment;  // variables of the ranks, which replace the group's
};

// A Case is a case of a contest. Its row lacks system, algorithm and results. Keys: `case`, `metric`, `unit`, `note`
// (without one: what is said of a fabric, of load, and of more ranks than cores), `collective`, `size`; of the cell
// `mode`, `cell` (in place of the collective), `argument` (in place of the size), `words` (of irregular collectives
// `random` without any).
struct Case {
  Row row;
  RankCell cell;
  Words line;  // all keys of the case
};

// A Contest is one group of cases. Keys: `program` (of MPI; else ranks of rank_main.c) with `in_turn`, or `pair` (a
// program that measures between two processes of its own); `runs`, `budget`, `calls`, `peer_time`, `unfinished_max`,
// `start_time`, `cell_times` (how often the time that a cell may take); `pairs`, `differences`, `ratios_to_first`,
// `better_mpi`; `nodes`, `ppn`, `load` (`busy`: beside background load), `fabric`, `rate`, `loopback`, `sites`;
// `environment`; `rank_bytes_max` (cases with longer buffers are left out); `analysis` (bench/analysis.h); `code`.
struct Contest {
  std::string bench;
  Words line;
  TestbedOptions testbed;
  uint32_t ppn = 1;
  bool busy = false;
  std::vector<SystemSpec> systems;
  ContestOptions options;
  RankOptions rank_options;
  std::vector<Case> cases;
};

struct Benchmark {
  std::string name;
  std::string summary;  // one line, for --list
  std::vector<Contest> contests;
};

// Loads the file's benchmarks, with --quick or without. Errors: those of LoadData.
absl::StatusOr<std::vector<Benchmark>> LoadBenchmarks(bool quick);

// Returns the number of bytes in one rank's two buffers, with its own block counted once.
uint64_t RankBytes(const std::string& collective, uint64_t bytes, uint32_t ranks);

}  // namespace copse::bench

#endif  // COPSE_BENCH_CASES_H_
