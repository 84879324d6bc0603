// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "bench/benchmarks.h"
#include "bench/measures/callgrind.h"

namespace copse::bench {

// Instructions are the same in each run, so there is one.
absl::Status RunHopInstructions(const Options& options, const Contest&, const Reporter& report) {
  const Row row = {.bench = "hop",
                   .what = "engine, a packet from client to client",
                   .system = "copse",
                   .collective = "packet",
                   .nodes = 2,
                   .ppn = 1,
                   .bytes = 128,
                   .metric = "instructions",
                   .unit = "instructions",
                   .note = "callgrind; the engines alone, sent and received"};
  if (!Wanted(options, row)) return absl::OkStatus();
  const uint64_t packets = options.quick ? 1000 : 10'000;
  const absl::StatusOr<CountedRun> run =
      RunUnderCallgrind("bench/pairs/engine_packets", {absl::StrCat(packets)}, options.cell_timeout);
  report(run.ok() ? Figure(row, row.metric, row.unit, {run->instructions / static_cast<double>(packets)})
                  : Unfinished(row, std::string(run.status().message())));
  return absl::OkStatus();
}

}  // namespace copse::bench
