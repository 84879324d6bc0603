// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/metrics.h"

#include <fstream>
#include <regex>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/check_names.h"
#include "prometheus/text_serializer.h"

namespace copse::exporter {
namespace {

constexpr char kInstruments[] = "docs/reference/instruments.md";
constexpr char kMetrics[] = "docs/reference/metrics.md";

// Returns the texts between backticks of the first cells of the page's tables, up to the line `end`.
std::vector<std::string> FirstCells(const std::string& page, const std::string& end_line) {
  std::ifstream file(page);
  std::vector<std::string> texts;
  for (std::string line; std::getline(file, line) && line != end_line;) {
    if (line.rfind("| `", 0) != 0) continue;
    const std::string cell = line.substr(0, line.find(" |", 2));
    for (size_t begin = cell.find('`'); begin != std::string::npos; begin = cell.find('`', begin + 1)) {
      const size_t end = cell.find('`', begin + 1);
      if (end == std::string::npos) break;
      texts.push_back(cell.substr(begin + 1, end - begin - 1));
      begin = end;
    }
  }
  EXPECT_GT(texts.size(), 20u) << page;
  return texts;
}

// Returns the names of all counters: ".received" stands for the last part of the name before it.
std::vector<std::string> Counters() {
  std::vector<std::string> counters;
  for (std::string text : FirstCells(kInstruments, "## Histograms")) {
    if (text[0] == '.') text = absl::StrCat(counters.back().substr(0, counters.back().rfind('.')), text);
    counters.push_back(absl::StrReplaceAll(text, {{"COLLECTIVE", "bcast"},
                                                  {"FAILURE", "canceled"},
                                                  {"REASON", "label"},
                                                  {"QUOTA", "teams"},
                                                  {"STATE", "ready"}}));
  }
  return counters;
}

// Returns the metrics that the page lists by name.
std::set<std::string> Listed() {
  const std::vector<std::string> cells = FirstCells(kMetrics, "## End");
  return {cells.begin(), cells.end()};
}

// Returns the names of all metrics of the two programs.
std::set<std::string> Metrics() {
  std::set<std::string> made;
  for (const std::string& counter : Counters()) made.insert(MetricNameOf(counter).name);
  const v1::StatusAnswer status;
  for (const prometheus::MetricFamily& family : DaemonMetrics(&status, "1")) made.insert(family.name);
  const v1::GetPlannerStatusReply planner;
  const v1::GetPlannerStatsReply stats;
  for (const prometheus::MetricFamily& family : PlannerMetrics(&planner, &stats, "1")) made.insert(family.name);
  return made;
}

TEST(MetricsTest, EveryCounterHasAValidNameAndThePageListsWhatIsNotMadeByItsRule) {
  const std::set<std::string> listed = Listed();
  std::set<std::string> by_rule;
  std::map<std::string, bool> gauges;
  for (const std::string& counter : Counters()) {
    const MetricName metric = MetricNameOf(counter);
    EXPECT_EQ(gauges.try_emplace(metric.name, metric.is_gauge).first->second, metric.is_gauge) << counter;
    if (metric.labels.empty()) by_rule.insert(metric.name);
  }
  const std::set<std::string> made = Metrics();
  for (const std::string& name : made) {
    EXPECT_TRUE(prometheus::CheckMetricName(name)) << name;
    EXPECT_NE(listed.count(name), by_rule.count(name)) << name;
  }
  for (const std::string& name : listed) EXPECT_EQ(made.count(name), 1u) << name;
}

TEST(MetricsTest, NamesFollowThePagesRule) {
  EXPECT_EQ(MetricNameOf("queue.oldest_us").name, "copse_queue_oldest_seconds");
  EXPECT_EQ(MetricNameOf("loop.cpu_us").name, "copse_loop_cpu_seconds_total");
  EXPECT_EQ(MetricNameOf("early.pending_bytes").name, "copse_early_pending_bytes_total");  // of all calls so far
  EXPECT_EQ(MetricNameOf("store.failing_ms").name, "copse_store_failing_seconds");
  EXPECT_EQ(MetricNameOf("process.uptime_s").name, "copse_process_uptime_seconds");
  EXPECT_EQ(MetricNameOf("process.clock_at_ms").name, "copse_process_clock_timestamp_seconds");
  EXPECT_EQ(MetricNameOf("tls.list_ends_at_s").name, "copse_tls_list_ends_timestamp_seconds");
  EXPECT_EQ(MetricNameOf("engine.credits.stalls").name, "copse_engine_credits_stalls_total");
}

// Returns the names of metrics in what stands behind `key` in the file's lines, without what histograms add to theirs.
std::set<std::string> MetricsIn(const std::string& path, const std::string& key) {
  static const auto& name = *new std::regex("copse_[a-z0-9_]+");
  std::ifstream file(path);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    const size_t begin = line.find(key);
    if (begin == std::string::npos) continue;
    const auto from = line.begin() + static_cast<std::ptrdiff_t>(begin + key.size());
    for (std::sregex_iterator found(from, line.end(), name), end; found != end; ++found) {
      absl::string_view metric = AbslView(*names.insert(found->str()).first);
      if (absl::ConsumeSuffix(&metric, "_seconds_bucket")) names.insert(absl::StrCat(metric, "_seconds"));
    }
  }
  return names;
}

TEST(MetricsTest, AlertsAndTheDashboardAskForMetricsThatThereAre) {
  const std::set<std::string> made = Metrics();
  const struct {
    const char* file;
    const char* key;
    size_t at_least;
  } asked[] = {{"deploy/alerts.yml", "expr:", 15}, {"deploy/grafana.json", "\"expr\":", 25}};
  for (const auto& [file, key, at_least] : asked) {
    const std::set<std::string> names = MetricsIn(file, key);
    EXPECT_GE(names.size(), at_least) << file;
    for (const std::string& name : names) {
      if (absl::EndsWith(name, "_seconds_bucket")) continue;
      EXPECT_EQ(made.count(name), 1u) << file << ": " << name;
    }
  }
}

TEST(MetricsTest, CountersOfOneFamilyDifferByLabels) {
  const std::string text = prometheus::TextSerializer().Serialize(MetricsOf({{"calls.bcast.ok", 3},
                                                                             {"calls.bcast.timed_out", 1},
                                                                             {"calls.scan.ok", 2},
                                                                             {"engine.bytes.received", 7},
                                                                             {"engine.bytes.sent", 5},
                                                                             {"loop.turn_max_us", 1500}}));
  for (const char* line :
       {"# TYPE copse_calls_total counter\n", "copse_calls_total{collective=\"bcast\",result=\"ok\"} 3",
        "copse_calls_total{collective=\"bcast\",result=\"timed_out\"} 1",
        "copse_calls_total{collective=\"scan\",result=\"ok\"} 2", "copse_engine_bytes_total{direction=\"sent\"} 5",
        "# TYPE copse_loop_turn_max_seconds gauge\n", "copse_loop_turn_max_seconds 0.0015"}) {
    EXPECT_THAT(text, ::testing::HasSubstr(line));
  }
}

TEST(MetricsTest, ADaemonThatDoesNotAnswerIsDown) {
  const std::vector<prometheus::MetricFamily> families = DaemonMetrics(nullptr, "1.2");
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].name, "copse_up");
  EXPECT_EQ(families[0].metric[0].gauge.value, 0);
}

TEST(MetricsTest, APlannerThatAnswersInPartIsDown) {
  const v1::GetPlannerStatusReply status;
  const std::vector<prometheus::MetricFamily> families = PlannerMetrics(&status, nullptr, "1.2");
  ASSERT_EQ(families.size(), 2u);
  EXPECT_EQ(families[0].name, "copse_planner_up");
  EXPECT_EQ(families[0].metric[0].gauge.value, 0);
}

}  // namespace
}  // namespace copse::exporter
