// SPDX-License-Identifier: Apache-2.0
#include "bench/row.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "base/check.h"
#include "nlohmann/json.hpp"

namespace copse::bench {
namespace {

// Between the two values around the wanted place, as far as it is between them.
double Quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

void Summarize(std::vector<double> values, Row* row) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  row->runs = static_cast<uint32_t>(values.size());
  row->p10 = Quantile(values, 0.1);
  row->median = Quantile(values, 0.5);
  row->p90 = Quantile(values, 0.9);
}

std::string ToJson(const Row& row) {
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
    json["met"] = row.metric != "unfinished" && row.median <= *row.target;
  }
  return json.dump();
}

std::string TableHeading() {
  const std::string names =
      absl::StrFormat("%-10s %-9s %-18s %5s %3s %8s %10s %10s %10s %-4s %s", "collective", "system", "algorithm",
                      "nodes", "ppn", "bytes", "p10", "median", "p90", "unit", "case");
  return names + "\n" + std::string(names.size() + 32, '-') + "\n";
}

std::string ToTableLine(const Row& row) {
  if (row.metric == "unfinished") {
    return absl::StrFormat("%-10s %-9s %-18s %5d %3d %8d %32s %-4s %s\n", row.collective, row.system, row.algorithm,
                           row.nodes, row.ppn, row.bytes, "unfinished", row.unit, row.what);
  }
  return absl::StrFormat("%-10s %-9s %-18s %5d %3d %8d %10.1f %10.1f %10.1f %-4s %s\n", row.collective, row.system,
                         row.algorithm, row.nodes, row.ppn, row.bytes, row.p10, row.median, row.p90, row.unit,
                         row.what);
}

}  // namespace copse::bench
