// SPDX-License-Identifier: Apache-2.0
//
// What the user of tools/bench has asked for.
#ifndef COPSE_BENCH_BENCH_H_
#define COPSE_BENCH_BENCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "bench/row.h"

namespace copse::bench {

// Called with each row as soon as it is there.
using Reporter = std::function<void(const Row&)>;

struct Options {
  bool quick = false;  // fewer cells and runs: to see that it works
  // A cell that has not finished by then becomes a row with metric `unfinished`.
  absl::Duration cell_timeout = absl::Seconds(20);
  // How often each system of a contest is measured, and how long each cell's calls take. 0: the benchmark's own.
  uint32_t runs = 0;
  absl::Duration budget;
  std::vector<std::string> systems;  // those to be measured; empty: all
  // For clusters, each in a folder of its own below; tools/bench removes it whatever happens. Empty: the system's.
  std::string folder;
  std::string only;  // cells whose label (LabelOf) has one of these texts, with `|` between them; empty: all
};

// "latency 8x1 allreduce 48 B, idle"
std::string LabelOf(const Row& row);
bool Wanted(const Options& options, const Row& row);
bool WantedSystem(const Options& options, const std::string& system);

// "2 cores, 3 others running": what a row's machine is.
std::string DescribeMachine();

}  // namespace copse::bench

#endif  // COPSE_BENCH_BENCH_H_
