// SPDX-License-Identifier: Apache-2.0
#include "bench/transfer.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/contest.h"
#include "bench/pair_start.h"
#include "bench/rank_contender.h"

namespace copse::bench {
namespace {

// The first is what the transport does, to which the others' ratios are.
constexpr const char* kSystems[] = {"ucx-eager", "ucx-eager-copied", "ucx-rendezvous", "ucx-put"};
constexpr uint32_t kPiecesMax = 65'536;

Row RowOf(uint64_t bytes, const std::string& metric, const std::string& unit) {
  Row row;
  row.bench = "transfer";
  row.what = bytes < 1 << 20 ? absl::StrCat("pieces of ", bytes >> 10, " KiB, ", metric)
                             : absl::StrCat("pieces of ", bytes >> 20, " MiB, ", metric);
  row.nodes = 2;
  row.ppn = 1;
  row.bytes = bytes;
  row.metric = metric;
  row.unit = unit;
  return row;
}

}  // namespace

absl::Status RunTransfer(const Options& options, const std::function<void(const Row&)>& report) {
  std::vector<Row> rows;
  std::vector<RankCell> cells;
  const auto add = [&](const Row& row, const std::string& mode) {
    if (!Wanted(options, row)) return;
    rows.push_back(row);
    cells.push_back({mode, "piece", row.bytes});
  };
  // Between 60 and 64 KiB a message of UCX's over TCP becomes two.
  for (const uint64_t bytes : {32u << 10, 60u << 10, 64u << 10, 1u << 20}) {
    add(RowOf(bytes, "throughput", "MB/s"), "throughput");
    add(RowOf(bytes, "processor time", "us/MiB"), "processor");
  }
  if (rows.empty()) return absl::OkStatus();
  absl::Duration budget = absl::Milliseconds(options.quick ? 50 : 300);
  if (options.budget > absl::ZeroDuration()) budget = options.budget;
  const RankOptions rank_options = {.budget = budget, .calls_max = kPiecesMax, .cell_timeout = options.cell_timeout};
  std::vector<std::unique_ptr<RankContender>> pairs;
  std::vector<Contender*> contenders;
  for (const std::string system : kSystems) {
    if (!WantedSystem(options, system)) continue;
    pairs.push_back(std::make_unique<RankContender>(system, PairStart("bench/transfer_pair", system), nullptr, cells,
                                                    rank_options, nullptr));
    contenders.push_back(pairs.back().get());
  }
  if (contenders.empty()) return absl::OkStatus();
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 2u : 7u;
  RunContest(rows, contenders, {.runs = runs, .ratios_to_first = true}, report);
  return absl::OkStatus();
}

}  // namespace copse::bench
