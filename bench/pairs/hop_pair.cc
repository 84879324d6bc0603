// SPDX-License-Identifier: Apache-2.0
//
// Two processes that send a packet of 128 bytes back and forth, over TCP on loopback.
//
//     hop_pair SYSTEM BUDGET_MS CALLS_MAX MODE:packet:BYTES...     SYSTEM: copse, ucx; MODE: polling, sleeping
//
// Speaks as bench/ranks/rank_main.c does: `ready`, then for each cell a line with its number and, for each round trip,
// half of its microseconds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/pairs/hop_side.h"
#include "bench/pairs/pair_end.h"

namespace copse::bench {
namespace {

constexpr uint32_t kWarmUpCalls = 100;

// A cell, the same in both processes.
struct Cell {
  bool sleep = false;
};

absl::Status Ping(HopSide* side, bool sleep, uint32_t calls, std::vector<double>* samples) {
  for (uint32_t i = 0; i < calls; ++i) {
    const int64_t start = absl::GetCurrentTimeNanos();
    RETURN_IF_ERROR(side->Send());
    RETURN_IF_ERROR(side->Receive(sleep));
    samples->push_back(static_cast<double>(absl::GetCurrentTimeNanos() - start) / 2000);
  }
  return absl::OkStatus();
}

absl::Status Echo(HopSide* side, bool sleep, uint32_t calls) {
  for (uint32_t i = 0; i < calls; ++i) {
    RETURN_IF_ERROR(side->Receive(sleep));
    RETURN_IF_ERROR(side->Send());
  }
  return absl::OkStatus();
}

absl::Status RunEcho(const PairEnd& pair, HopSide* side, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    RETURN_IF_ERROR(Echo(side, cell.sleep, kWarmUpCalls));
    uint32_t calls = 0;
    RETURN_IF_ERROR(pair.Receive(&calls));
    RETURN_IF_ERROR(Echo(side, cell.sleep, calls));
  }
  // The last answer leaves the process only if somebody moves the network on.
  while (pair.IsQuiet()) RETURN_IF_ERROR(side->Flush());
  return absl::OkStatus();
}

absl::Status RunPing(const PairEnd& pair, HopSide* side, const std::vector<Cell>& cells, double budget_us,
                     uint32_t calls_max) {
  for (size_t i = 0; i < cells.size(); ++i) {
    std::vector<double> samples;
    RETURN_IF_ERROR(Ping(side, cells[i].sleep, kWarmUpCalls, &samples));
    std::sort(samples.begin(), samples.end());
    const double fit = budget_us / (2 * samples[samples.size() / 2] + 0.1);
    const auto calls = static_cast<uint32_t>(std::clamp<double>(fit, 10, calls_max));
    RETURN_IF_ERROR(pair.Notify(calls));
    samples.clear();
    RETURN_IF_ERROR(Ping(side, cells[i].sleep, calls, &samples));
    std::printf("%zu", i);
    for (const double sample : samples) std::printf(" %.3f", sample);
    std::printf("\n");
    std::fflush(stdout);
  }
  return pair.Notify(uint32_t{0});
}

absl::Status Main(const std::string& system, double budget_us, uint32_t calls_max, const std::vector<Cell>& cells) {
  ASSIGN_OR_RETURN(const PairEnd pair, PairEnd::Fork());
  std::unique_ptr<HopSide> side;
  if (system == "ucx") {
    ASSIGN_OR_RETURN(side, NewUcxSide());
  } else {
    ASSIGN_OR_RETURN(side, NewEngineSide(pair.is_first() ? 0 : 1));
  }
  ASSIGN_OR_RETURN(const std::string peer, pair.Exchange(side->Address()));
  RETURN_IF_ERROR(side->Connect(peer));
  if (!pair.is_first()) return RunEcho(pair, side.get(), cells);
  pair.AwaitStart();
  return RunPing(pair, side.get(), cells, budget_us, calls_max);
}

int Usage() {
  std::fprintf(stderr, "usage: hop_pair copse|ucx BUDGET_MS CALLS_MAX {polling|sleeping}:packet:BYTES...\n");
  return 2;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  using copse::bench::Cell;
  if (argc < 5) return copse::bench::Usage();
  const std::string system = argv[1];
  std::vector<Cell> cells;
  for (int i = 4; i < argc; ++i) {
    const bool sleep = absl::StartsWith(argv[i], "sleeping:");
    if (!sleep && !absl::StartsWith(argv[i], "polling:")) return copse::bench::Usage();
    cells.push_back({sleep});
  }
  if (system != "copse" && system != "ucx") return copse::bench::Usage();
  const absl::Status status = copse::bench::Main(system, std::atof(argv[2]) * 1000,
                                                 static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)), cells);
  if (status.ok()) return 0;
  std::fprintf(stderr, "hop_pair: %s: %s\n", system.c_str(), std::string(status.message()).c_str());
  return 1;
}
