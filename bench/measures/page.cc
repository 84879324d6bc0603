// SPDX-License-Identifier: Apache-2.0
//
// Runs bench/control/page.py: what the page of a large cluster costs its viewers and the planner.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/line_field.h"
#include "bench/measures/script_rounds.h"

namespace copse::bench {
namespace {

// Before the first round all daemons connect and form teams.
constexpr absl::Duration kRoundPatience = absl::Minutes(9);

struct PageScale {
  uint32_t nodes = 10'000;
  uint32_t teams = 2'000;
  uint32_t viewers = 20;
  uint32_t seconds = 60;    // of what is measured over time without viewers
  uint32_t viewed_s = 205;  // two of the longest pauses of copse-web, which are of 100 s with so many nodes
  uint32_t rounds = 3;
};

struct Column {
  std::string what, metric, unit, field, note;
};

}  // namespace

absl::Status RunPage(const Options& options, const Contest&, const Reporter& report) {
  PageScale scale;
  if (options.quick) scale = {.nodes = 64, .teams = 4, .viewers = 2, .seconds = 3, .viewed_s = 3, .rounds = 1};
  if (options.runs > 0) scale.rounds = options.runs;
  const std::string looked = absl::StrCat("a browser, ", scale.teams, " teams");
  const std::string viewed = absl::StrCat(scale.viewers, " viewers, ", scale.teams, " teams");
  const std::vector<Column> columns = {
      {looked, "first paint", "s", "paint_s", "from the address to states and tree of all nodes"},
      {looked, "memory", "MB", "memory_mb", "PSS of the tab's process, the most that was seen"},
      {looked, "longest task", "ms", "task_ms", "of the tab, after the first paint"},
      {viewed, "planner", "%", "planner", "of a core, beyond what it takes without viewers"},
      {viewed, "copse-web", "%", "web", "of a core, beyond what it takes without viewers"},
      {"nobody looks", "planner", "%", "alone", "of a core"},
      {"nobody looks", "scrape", "ms", "scrape_ms", "of the planner by copse-web; its figures are at most 1 s older"}};
  const auto row = [&scale](const Column& column) {
    return Row{
        .bench = "page", .what = column.what, .system = "copse", .nodes = scale.nodes, .ppn = 1, .note = column.note};
  };
  bool wanted = false;
  for (const Column& column : columns) wanted = wanted || Wanted(options, row(column));
  if (!wanted) return absl::OkStatus();
  const Script script = {
      .file = "bench/control/page.py",
      .programs = {"planner/server/copse-planner", "cli/web/copse-web", "bench/control/control_swarm"},
      .files = {"testbed/script/planner_cluster.py", "testbed/script/browser.py"},
      .arguments = {absl::StrCat(scale.nodes), absl::StrCat(scale.teams), absl::StrCat(scale.viewers),
                    absl::StrCat(scale.seconds), absl::StrCat(scale.viewed_s), absl::StrCat(scale.rounds)}};
  std::vector<std::string> rounds;
  const absl::Status status =
      RunScript(script, options.folder, kRoundPatience, [&rounds](const std::string& line) { rounds.push_back(line); });
  if (!status.ok()) report(Unfinished(row(columns[0]), std::string(status.message())));
  if (rounds.empty()) return absl::OkStatus();
  for (const Column& column : columns) {
    std::vector<double> values;
    for (const std::string& round : rounds) {
      ASSIGN_OR_RETURN(values.emplace_back(), LineField("page", round, column.field));
    }
    report(Figure(row(column), column.metric, column.unit, values));
  }
  return absl::OkStatus();
}

}  // namespace copse::bench
