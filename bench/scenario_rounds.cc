// SPDX-License-Identifier: Apache-2.0
#include "bench/scenario_rounds.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/contest.h"
#include "bench/tnbc_systems.h"

namespace copse::bench {
namespace {

constexpr size_t kFigures = 6;        // of a round
constexpr uint32_t kBcastBlocks = 8;  // as the paper has them; mpi_scenario.c reads so many

std::vector<double> Column(const std::vector<double>& samples, size_t figure) {
  std::vector<double> values;
  for (size_t i = figure; i < samples.size(); i += kFigures) values.push_back(samples[i] / 1e3);
  return values;
}

}  // namespace

absl::StatusOr<Rounds> ParseRounds(const std::vector<double>& samples) {
  if (samples.empty() || samples.size() % kFigures != 0) {
    return absl::InternalError(absl::StrCat("not the figures of rounds (count=", samples.size(), ")"));
  }
  const auto median = [&samples](size_t figure) { return Median(Column(samples, figure)); };
  return Rounds{.call = median(0),
                .computation = median(1),
                .in_call = median(3),
                .call_busy = median(4),
                .computation_busy = median(5),
                .total = median(2),
                .totals = Column(samples, 2)};
}

uint32_t BlocksOf(const Payload& payload, uint32_t ranks) {
  return payload.collective == "bcast" ? kBcastBlocks : ranks;
}

double FirstPartOf(const Payload& payload, uint32_t ppn) {
  return 1.0 / (payload.collective == "bcast" ? kBcastBlocks : ppn);
}

RankCell CellOf(const Payload& payload, const Computation& computation) {
  return {"scenario",
          payload.collective,
          payload.bytes,
          {absl::StrCat(computation.unrelated * 1e3), absl::StrCat(computation.related * 1e3),
           absl::StrCat(computation.share), computation.order, payload.memory}};
}

absl::StatusOr<std::vector<double>> TimeCalls(const Options& options, const std::vector<Payload>& payloads,
                                              uint32_t ppn, Site* site) {
  std::vector<RankCell> cells;
  std::vector<size_t> all;
  for (const Payload& payload : payloads) {
    all.push_back(cells.size());
    cells.push_back(CellOf(payload, {}));
  }
  const std::string system = std::string(kTnbcLibraries[0]) + kBlocking;
  RankContender contender(
      system,
      [&](const std::vector<std::string>& arguments) {
        return StartTnbc(system, {.program = kScenarioProgram, .ppn = ppn, .in_turn = true, .arguments = arguments},
                         site);
      },
      nullptr, cells, {.budget = absl::Seconds(2), .calls_max = 10, .cell_timeout = options.cell_timeout}, nullptr);
  std::vector<double> calls;
  absl::Status parsed;
  RETURN_IF_ERROR(contender.Measure(all, [&](size_t, const std::vector<double>& samples) {
    const absl::StatusOr<Rounds> rounds = ParseRounds(samples);
    if (!rounds.ok()) parsed = rounds.status();
    calls.push_back(rounds.ok() ? rounds->call : 0);
  }));
  RETURN_IF_ERROR(parsed);
  return calls;
}

}  // namespace copse::bench
