// SPDX-License-Identifier: Apache-2.0
#include "bench/rank_system.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"

namespace copse::bench {
namespace {

constexpr absl::Duration kEndTimeout = absl::Seconds(20);
constexpr absl::Duration kLastWordsTimeout = absl::Seconds(1);  // from the end of a rank's output to its own

// "CELL SAMPLE..."
absl::StatusOr<std::vector<double>> ParseSamples(const std::string& line, size_t cell) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ', absl::SkipEmpty());
  std::vector<double> samples;
  for (size_t i = 1; i < words.size(); ++i) {
    if (!absl::SimpleAtod(words[i], &samples.emplace_back())) samples.clear();
  }
  if (samples.empty() || words[0] != absl::StrCat(cell)) {
    return absl::InternalError(absl::StrCat("rank 0: not the samples of cell ", cell, " (line=", line, ")"));
  }
  return samples;
}

}  // namespace

std::string RankSystem::algorithm(size_t cell) const {
  const auto found = algorithms_.find(cell);
  return found == algorithms_.end() ? "" : found->second;
}

absl::Status RankSystem::Measure(const std::vector<size_t>& cells, const Report& report) {
  std::vector<std::string> arguments = {absl::StrCat(absl::ToInt64Milliseconds(options_.budget)),
                                        absl::StrCat(options_.calls_max)};
  for (const size_t cell : cells) {
    std::string& argument =
        arguments.emplace_back(absl::StrCat(cells_[cell].mode, ":", cells_[cell].collective, ":", cells_[cell].bytes));
    for (const std::string& word : cells_[cell].words) absl::StrAppend(&argument, ":", word);
  }
  ASSIGN_OR_RETURN(const RankProcesses ranks, hooks_.start(arguments));
  RETURN_IF_ERROR(AwaitReady(ranks));
  if (hooks_.algorithm) {
    for (const size_t cell : cells) {
      ASSIGN_OR_RETURN(algorithms_[cell], hooks_.algorithm(cell));
    }
  }
  if (load_ != nullptr) load_->Resume();
  const absl::Status status = ReadCells(ranks, cells, report);
  if (load_ != nullptr) load_->Pause();
  RETURN_IF_ERROR(status);
  return ranks.AwaitEnd(kEndTimeout);
}

absl::Status RankSystem::AwaitReady(const RankProcesses& ranks) {
  const absl::StatusOr<std::string> line = ranks.front()->ReadLine(options_.start_timeout);
  if (absl::IsDeadlineExceeded(line.status())) {
    return absl::UnavailableError(absl::StrCat(
        "ranks did not start (timeout=", absl::FormatDuration(options_.start_timeout), ")", ranks.DescribeFailed()));
  }
  if (!line.ok()) {
    // Whether it has ended by then is no matter: what it has said is quoted.
    ranks.front()->AwaitEnd(kLastWordsTimeout).IgnoreError();
    return absl::InternalError("ranks ended before they were ready" + ranks.DescribeFailed());
  }
  if (*line != "ready") return absl::InternalError(absl::StrCat("rank 0: not ready (line=", *line, ")"));
  return absl::OkStatus();
}

// Rank 0 waits for the end of its input; so may others for theirs.
absl::Status RankSystem::ReadCells(const RankProcesses& ranks, const std::vector<size_t>& cells, const Report& report) {
  for (const auto& process : ranks.processes) process->CloseInput();
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StatusOr<std::string> line = ranks.front()->ReadLine(options_.cell_timeout);
    if (absl::IsOutOfRange(line.status())) {
      ranks.front()->AwaitEnd(kLastWordsTimeout).IgnoreError();
      line = absl::InternalError("ranks ended within the cell" + ranks.DescribeFailed());
    }
    RETURN_IF_ERROR(line.status());
    ASSIGN_OR_RETURN(std::vector<double> samples, ParseSamples(*line, i));
    if (hooks_.take) {
      ASSIGN_OR_RETURN(samples, hooks_.take(cells[i], std::move(samples)));
    }
    report(cells[i], std::move(samples));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
