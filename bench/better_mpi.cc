// SPDX-License-Identifier: Apache-2.0
#include "bench/better_mpi.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace copse::bench {
namespace {

constexpr char kUnfinished[] = "unfinished";

// Returns the ratio to the fastest library, which is the largest one.
Row BetterOf(const std::vector<Row>& ratios) {
  Row better = ratios.front();
  for (const Row& row : ratios) {
    if (row.metric == "ratio" && (better.metric != "ratio" || row.median > better.median)) better = row;
  }
  if (better.metric == "ratio") better.note = absl::StrCat(better.peer, "; ", better.note);
  better.peer = kBetterMpi;
  return better;
}

}  // namespace

std::function<void(const Row&)> WithBetterMpi(uint32_t libraries, std::function<void(const Row&)> report) {
  const auto ratios = std::make_shared<std::vector<Row>>();  // those of one cell; shared by copies of the function
  return [libraries, ratios, report = std::move(report)](const Row& row) {
    report(row);
    if (!IsMpi(row.peer)) return;
    ratios->push_back(row);
    if (ratios->size() < libraries) return;
    report(BetterOf(*ratios));
    ratios->clear();
  };
}

void Count(const Row& row, const std::string& first, const std::string& peer, Tally* tally) {
  if (row.system != first) return;
  if (row.peer.empty() && row.metric == kUnfinished) ++tally->lost;
  if (row.peer != peer) return;
  ++tally->cells;
  if (row.metric != "ratio") {
    ++tally->ahead;
    return;
  }
  tally->ahead += row.median < 1;
  if (row.median < tally->worst_ratio) return;
  tally->worst_ratio = row.median;
  tally->worst = row.what;
}

std::vector<Row> RowsOf(const Tally& tally, const Row& blank) {
  if (tally.cells == 0) return {};
  // Count takes a cell that the first system has not finished for one that the peer has not finished.
  const uint32_t ahead = tally.ahead - tally.lost;
  Row behind = Figure(blank, "cells not ahead", "%", {100.0 * (tally.cells - ahead) / tally.cells});
  behind.note = absl::StrCat(tally.cells - ahead, " of ", tally.cells);
  Row worst = Figure(blank, tally.lost > 0 ? kUnfinished : "worst ratio", "1", {tally.worst_ratio});
  worst.note = tally.worst;
  return {behind, worst};
}

}  // namespace copse::bench
