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

TEST(MetricsTest, EveryCounterHasAValidNameThatThePageLists) {
  const std::vector<std::string> page = FirstCells(kMetrics, "## End");
  const std::set<std::string> listed(page.begin(), page.end());
  std::set<std::string> made;
  std::map<std::string, bool> gauges;
  for (const std::string& counter : Counters()) {
    const MetricName metric = MetricNameOf(counter);
    EXPECT_TRUE(prometheus::CheckMetricName(metric.name)) << metric.name;
    EXPECT_EQ(gauges.try_emplace(metric.name, metric.is_gauge).first->second, metric.is_gauge) << counter;
    EXPECT_EQ(listed.count(metric.name), 1u) << metric.name;
    made.insert(metric.name);
  }
  const v1::StatusAnswer status;
  for (const prometheus::MetricFamily& family : DaemonMetrics(&status, "1")) {
    EXPECT_EQ(listed.count(family.name), 1u) << family.name;
    made.insert(family.name);
  }
  const v1::GetPlannerStatusReply planner;
  const v1::GetPlannerStatsReply stats;
  for (const prometheus::MetricFamily& family : PlannerMetrics(&planner, &stats, "1")) {
    EXPECT_TRUE(prometheus::CheckMetricName(family.name)) << family.name;
    made.insert(family.name);
  }
  EXPECT_EQ(made, listed);
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
  const std::vector<std::string> page = FirstCells(kMetrics, "## End");
  const std::set<std::string> listed(page.begin(), page.end());
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
      EXPECT_EQ(listed.count(name), 1u) << file << ": " << name;
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
