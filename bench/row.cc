// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/check.h"
#include "cli/perftest/statistics.h"
#include "nlohmann/json.hpp"

namespace copse::bench {
void Summarize(std::vector<double> values, Row* row) {
  CHECK(!values.empty());
  row->runs = static_cast<uint32_t>(values.size());
  const perftest::Percentiles percentiles = perftest::PercentilesOf(std::move(values));
  row->p10 = percentiles.p10;
  row->median = percentiles.median;
  row->p90 = percentiles.p90;
}

Row Figure(Row row, const std::string& metric, const std::string& unit, std::vector<double> values) {
  row.metric = metric;
  row.unit = unit;
  Summarize(std::move(values), &row);
  return row;
}

Row Unfinished(Row row, std::string why) {
  row.metric = "unfinished";
  row.note = std::move(why);
  return row;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  return perftest::PercentilesOf(std::move(values)).median;
}

bool IsMpi(const std::string& system) { return system == "openmpi" || system == "mpich"; }

bool HasCopse(const std::string& system) {
  return absl::StartsWith(system, "copse") || absl::StrContains(system, kUnderMpi);
}

bool Met(const Row& row) { return row.target && row.metric != "unfinished" && row.median <= *row.target; }

std::string ToJson(const Row& row, const Provenance& provenance) {
  nlohmann::ordered_json json = {{"bench", row.bench},
                                 {"case", row.what},
                                 {"system", row.system},
                                 {"collective", row.collective},
                                 {"algorithm", row.algorithm},
                                 {"nodes", row.nodes},
                                 {"ppn", row.ppn},
                                 {"ranks", row.nodes * row.ppn},
                                 {"bytes", row.bytes},
                                 {"metric", row.metric},
                                 {"unit", row.unit},
                                 {"runs", row.runs},
                                 {"p10", row.p10},
                                 {"median", row.median},
                                 {"p90", row.p90},
                                 {"seed", row.seed},
                                 {"note", row.note}};
  if (row.target) {
    json["target"] = *row.target;
    json["met"] = Met(row);
  }
  if (!row.peer.empty()) json["peer"] = row.peer;
  json["date"] = provenance.date;
  json["commit"] = provenance.commit;
  json["command"] = provenance.command;
  json["machine"] = provenance.machine;
  return json.dump();
}

std::string TableHeading() {
  const std::string names = absl::StrFormat("%-22s %-18s %5s %3s %10s %10s %10s %-4s %-12s %s", "system", "algorithm",
                                            "nodes", "ppn", "p10", "median", "p90", "unit", "target", "case");
  return names + "\n" + std::string(names.size() + 32, '-') + "\n";
}

std::string ToTableLine(const Row& row) {
  const std::string system = row.peer.empty() ? row.system : absl::StrCat(row.system, " / ", row.peer);
  const std::string target =
      row.target ? absl::StrFormat("%-5g %s", *row.target, Met(row) ? "met" : "missed") : std::string();
  const std::string figures = row.metric == "unfinished"
                                  ? absl::StrFormat("%32s", row.metric)
                                  : absl::StrFormat("%10.4g %10.4g %10.4g", row.p10, row.median, row.p90);
  // Unit and systems make these metrics clear.
  const bool is_usual = row.metric == "latency" || row.metric == "ratio" || row.metric == "unfinished";
  return absl::StrFormat("%-22s %-18s %5d %3d %s %-4s %-12s %s%s\n", system, row.algorithm, row.nodes, row.ppn, figures,
                         row.unit, target, row.what, is_usual ? "" : ", " + row.metric);
}

}  // namespace copse::bench
