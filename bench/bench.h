// SPDX-License-Identifier: Apache-2.0
//
// Defines the options of tools/bench, and how they select cells.
#ifndef COPSE_BENCH_BENCH_H_
#define COPSE_BENCH_BENCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/row.h"

namespace copse::bench {

// A Reporter is called with each row as soon as the row is complete.
using Reporter = std::function<void(const Row&)>;

struct Options {
  bool quick = false;  // fewer cells and runs, to test the benchmark itself
  // A cell that has not finished by then becomes a row with metric `unfinished`.
  absl::Duration cell_timeout = absl::Seconds(20);
  // Number of runs of each system in a contest, and duration of each cell's calls. 0: the benchmark's defaults.
  uint32_t runs = 0;
  absl::Duration budget;
  std::vector<std::string> systems;  // systems to measure; empty: all
  // The folder in which each cluster makes its own folder; tools/bench always removes it. Empty: the system's.
  std::string folder;
  // The file to which a benchmark with rounds appends them, and whose rounds count; empty: none.
  std::string ledger;
  std::string store;  // of control-swarm's planner: "etcd"; empty: a file
  std::string only;   // cells whose label (LabelOf) has one of these texts, with `|` between them; empty: all
};

// Returns a label such as "latency 8x1 allreduce 48 B, idle".
std::string LabelOf(const Row& row);
bool Wanted(const Options& options, const Row& row);
bool WantedSystem(const Options& options, const std::string& system);

// Describes this machine and its load for a row: "2 cores, 3 others running".
std::string DescribeMachine();

}  // namespace copse::bench

#endif  // COPSE_BENCH_BENCH_H_
