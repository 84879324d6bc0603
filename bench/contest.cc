// SPDX-License-Identifier: Apache-2.0
#include "bench/contest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace copse::bench {
namespace {

using Samples = std::vector<double>;

// A Score holds the results of one system so far.
struct Score {
  SystemUnderTest* system;
  std::vector<std::vector<Samples>> runs;    // by cell, then run
  std::map<size_t, std::string> unfinished;  // reason, by cell
  uint32_t failures = 0;
  bool given_up = false;
  absl::Duration took;
};

// Makes one run of a system: a launch for all cells, and another for the remaining ones after each cell that fails.
void RunOnce(Score* score, const ContestOptions& options) {
  size_t next = 0;
  while (next < score->runs.size()) {
    std::vector<size_t> wanted;
    for (size_t cell = next; cell < score->runs.size(); ++cell) {
      if (!score->unfinished.contains(cell)) wanted.push_back(cell);
    }
    if (wanted.empty()) return;
    size_t done = 0;
    const absl::Status status = score->system->Measure(wanted, [&](size_t cell, Samples samples) {
      score->runs[cell].push_back(std::move(samples));
      ++done;
    });
    if (done == wanted.size()) return;
    score->unfinished[wanted[done]] =
        absl::IsDeadlineExceeded(status) ? "not finished in its time" : std::string(status.message());
    next = wanted[done] + 1;
    // If ranks do not even start, other cells would fail as well.
    const bool hopeless = absl::IsUnavailable(status) && done == 0;
    if (++score->failures < options.unfinished_max && !hopeless) continue;
    score->given_up = true;
    for (size_t cell = 0; cell < score->runs.size(); ++cell) {
      if (score->runs[cell].empty()) score->unfinished.try_emplace(cell, "not tried: other cells were not finished");
    }
    return;
  }
}

Row RowOf(const Row& cell, const Score& score, size_t index) {
  Row row = cell;
  row.system = score.system->name();
  row.algorithm = score.system->algorithm(index);
  const auto why = score.unfinished.find(index);
  if (why != score.unfinished.end()) {
    row.metric = "unfinished";
    row.note = absl::StrCat(why->second, row.note.empty() ? "" : "; ", row.note);
    return row;
  }
  Samples all;
  for (const Samples& run : score.runs[index]) all.insert(all.end(), run.begin(), run.end());
  Summarize(std::move(all), &row);
  row.note = absl::StrCat(score.runs[index].size(), " runs", row.note.empty() ? "" : "; ", row.note);
  return row;
}

// Returns the ratio or difference of both systems' medians in each run that both have made.
Samples CompareRuns(const Score& above, const Score& below, size_t index, bool differences) {
  Samples values;
  for (size_t run = 0; run < std::min(above.runs[index].size(), below.runs[index].size()); ++run) {
    const double upper = Median(above.runs[index][run]), lower = Median(below.runs[index][run]);
    if (differences) {
      values.push_back(upper - lower);
    } else if (lower > 0) {
      values.push_back(upper / lower);
    }
  }
  return values;
}

Row ComparisonOf(const Row& cell, const Score& above, const Score& below, size_t index, bool differences) {
  const std::string peer = below.system->name();
  Row row = cell;
  row.system = above.system->name();
  row.algorithm = above.system->algorithm(index);
  if (!differences) {
    row.peer = peer;
    row.unit = "1";
  }
  Samples values = CompareRuns(above, below, index, differences);
  const bool unfinished = above.unfinished.contains(index) || below.unfinished.contains(index);
  if (values.empty() || unfinished) {
    row.metric = "unfinished";
    row.note = absl::StrCat(differences ? "no difference" : "no ratio", ": ",
                            unfinished ? "a side has not finished" : "the peer's is not above 0");
    return row;
  }
  row.metric = differences ? "added" : "ratio";
  row.note = absl::StrCat(cell.metric, differences ? " beyond that of " + peer : "", ", of the medians of each run",
                          row.note.empty() ? "" : "; ", row.note);
  Summarize(std::move(values), &row);
  return row;
}

using Pairs = std::vector<std::pair<const Score*, const Score*>>;

Pairs PairsOf(const std::vector<Score>& scores, const ContestOptions& options) {
  Pairs pairs;
  for (const auto& [first, second] : options.pairs) {
    const auto named = [&scores](const std::string& name) {
      return std::find_if(scores.begin(), scores.end(),
                          [&name](const Score& score) { return score.system->name() == name; });
    };
    const auto above = named(first), below = named(second);
    if (above != scores.end() && below != scores.end()) pairs.emplace_back(&*above, &*below);
  }
  if (!options.pairs.empty()) return pairs;
  for (size_t i = 1; i < scores.size(); ++i) {
    pairs.emplace_back(&scores[options.ratios_to_first ? i : 0], &scores[options.ratios_to_first ? 0 : i]);
  }
  return pairs;
}

}  // namespace

void RunContest(const std::vector<Row>& cells, const std::vector<SystemUnderTest*>& systems,
                const ContestOptions& options, const std::function<void(const Row&)>& report) {
  std::vector<Score> scores;
  for (SystemUnderTest* system : systems) {
    scores.push_back({.system = system, .runs = std::vector<std::vector<Samples>>(cells.size())});
  }
  for (uint32_t run = 0; run < options.runs; ++run) {
    for (Score& score : scores) {
      if (score.given_up) continue;
      if (run > 0 && &score != &scores.front() && score.took >= options.time_max) continue;
      const absl::Time start = absl::Now();
      RunOnce(&score, options);
      score.took += absl::Now() - start;
    }
  }
  const Pairs pairs = PairsOf(scores, options);
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    for (const Score& score : scores) report(RowOf(cells[cell], score, cell));
    for (const auto& [above, below] : pairs) {
      report(ComparisonOf(cells[cell], *above, *below, cell, options.differences));
    }
  }
}

}  // namespace copse::bench
