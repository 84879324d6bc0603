// SPDX-License-Identifier: Apache-2.0
#include "cli/perftest/report.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/string_view.h"
#include "base/units.h"
#include "base/version.h"
#include "cli/perftest/block_counts.h"
#include "cli/perftest/clock.h"
#include "nlohmann/json.hpp"

namespace copse::perftest {
namespace {

// A TextReport writes a table to be read by people. Lines that are not rows begin with #.
std::string Counted(uint32_t count, const char* thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

class TextReport : public Report {
 public:
  TextReport(const Options* options, const Placement& placement) : options_(*options), placement_(placement) {}

  std::string Heading(Collective collective) override {
    const bool overlap = options_.mode == Mode::kOverlap;
    std::string text = begun_ ? "\n" : "";
    begun_ = true;
    absl::StrAppend(&text, "# copse-perftest ", kVersion, ": ", AbslView(CollectiveName(collective)));
    if (HasData(collective)) absl::StrAppend(&text, " of ", AbslView(TypeName(options_.type)));
    if (Reduces(collective)) absl::StrAppend(&text, ", ", AbslView(ElementOpName(options_.operation)));
    absl::StrAppend(&text, "; ", CaseOf(options_, collective), "\n");
    absl::StrAppend(&text, "# ", Counted(placement_.ranks, "rank"), ", ", Counted(placement_.nodes, "node"),
                    ", at most ", Counted(placement_.ranks_per_node, "rank"), " a node. ",
                    options_.repetitions.small.iterations, " calls after ", options_.repetitions.small.warmup,
                    " not measured; above ", FormatBytes(static_cast<int64_t>(options_.repetitions.large_bytes)), " ",
                    options_.repetitions.large.iterations, " after ", options_.repetitions.large.warmup, "\n");
    if (overlap) {
      absl::StrAppend(&text, "# Means of ranks in us; overlap in percent, by OSU's formula");
    } else {
      absl::StrAppend(&text, "# us: avg, min, max of the ranks' means; p10 to p99 of each call's slowest rank");
    }
    absl::StrAppendFormat(&text, ". The clock takes %.0f ns\n", TimerNs());
    absl::StrAppendFormat(&text, "#%9s %11s", "count", "bytes");
    if (overlap) {
      absl::StrAppendFormat(&text, " %11s %11s %13s %9s", "overall", "compute", "communication", "overlap");
    } else {
      for (const char* name : {"avg", "min", "max", "p10", "median", "p90", "p99"}) {
        absl::StrAppendFormat(&text, " %9s", name);
      }
      absl::StrAppendFormat(&text, " %10s", "MB/s");
    }
    if (options_.check) absl::StrAppendFormat(&text, " %9s", "errors");
    return text + "\n";
  }

  std::string Row(const Cell& cell) override {
    std::string text = absl::StrFormat("%10d %11d", cell.count, cell.bytes);
    if (!cell.refused.empty()) return absl::StrCat(text, " refused: ", cell.refused, "\n");
    if (options_.mode == Mode::kOverlap) {
      absl::StrAppendFormat(&text, " %11.2f %11.2f %13.2f %9.1f", cell.metrics[0].ranks.avg, cell.metrics[1].ranks.avg,
                            cell.metrics[2].ranks.avg, cell.metrics[3].ranks.avg);
    } else {
      const auto& [name, unit, ranks, calls] = cell.metrics[0];
      for (const double us : {ranks.avg, ranks.min, ranks.max, calls.p10, calls.median, calls.p90, calls.p99}) {
        absl::StrAppendFormat(&text, " %9.2f", us);
      }
      if (cell.bandwidth_mb_s.has_value()) {
        absl::StrAppendFormat(&text, " %10.2f", *cell.bandwidth_mb_s);
      } else {
        absl::StrAppendFormat(&text, " %10s", "-");
      }
    }
    if (cell.errors.has_value()) absl::StrAppendFormat(&text, " %9d", *cell.errors);
    return text + "\n";
  }

 private:
  const Options& options_;
  const Placement placement_;
  bool begun_ = false;
};

// Rounds to three decimals; of a time in us that is the clock's resolution of 1 ns.
double Rounded(double value) { return std::round(value * 1000) / 1000; }

// Makes the row of one metric, or of a refused cell if `metric` is null. The fields that all benchmarks of Copse have
// come first, then those of perftest alone.
nlohmann::ordered_json Fields(const Options& options, const Placement& placement, const Cell& cell,
                              const Metric* metric) {
  const Metric values = metric == nullptr ? Metric() : *metric;
  const auto rounded = [&](double value) -> nlohmann::ordered_json {
    if (metric == nullptr) return nullptr;
    return Rounded(value);
  };
  nlohmann::ordered_json row = {
      {"bench", "perftest"},
      {"case", CaseOf(options, cell.collective)},
      {"system", "copse"},
      {"collective", CollectiveName(cell.collective)},
      {"algorithm", ""},  // the planner's choice, which the library does not report
      {"nodes", placement.nodes},
      {"ppn", placement.ranks_per_node},
      {"ranks", placement.ranks},
      {"bytes", cell.bytes},
      {"metric", metric == nullptr ? "refused" : metric->name},
      {"unit", metric == nullptr ? "" : metric->unit},
      {"runs", cell.runs},
      {"p10", rounded(values.calls.p10)},
      {"median", rounded(values.calls.median)},
      {"p90", rounded(values.calls.p90)},
      {"seed", options.seed},
      {"note", cell.refused.empty() ? options.flags : cell.refused},
      {"count", cell.count},
      {"datatype", HasData(cell.collective) ? TypeName(options.type) : ""},
      {"op", Reduces(cell.collective) ? ElementOpName(options.operation) : ""},
      {"avg", rounded(values.ranks.avg)},
      {"min", rounded(values.ranks.min)},
      {"max", rounded(values.ranks.max)},
      {"p99", rounded(values.calls.p99)},
      {"bandwidth", nullptr},
      {"errors", nullptr},
  };
  if (metric != nullptr && metric == &cell.metrics[0] && cell.bandwidth_mb_s.has_value()) {
    row["bandwidth"] = Rounded(*cell.bandwidth_mb_s);
  }
  if (cell.errors.has_value()) row["errors"] = *cell.errors;
  return row;
}

std::string ToJson(const nlohmann::ordered_json& row) {
  // By default dump() throws if a string is not UTF-8, and the command line may hold any bytes.
  return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string CsvField(const nlohmann::ordered_json& value) {
  if (value.is_null()) return "";
  if (!value.is_string()) return value.dump();
  const auto& text = value.get_ref<const std::string&>();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string ToCsv(const nlohmann::ordered_json& row) {
  std::string line;
  for (const auto& value : row) absl::StrAppend(&line, line.empty() ? "" : ",", CsvField(value));
  return line + "\n";
}

// A RowReport writes CSV or JSON to be read by programs, one line for each metric.
class RowReport : public Report {
 public:
  RowReport(const Options* options, const Placement& placement) : options_(*options), placement_(placement) {}

  std::string Heading(Collective collective) override {
    if (begun_ || options_.format == Format::kJson) return "";
    begun_ = true;
    std::string line;
    const Cell any{.collective = collective};
    const nlohmann::ordered_json row = Fields(options_, placement_, any, nullptr);
    for (const auto& [name, value] : row.items()) {
      absl::StrAppend(&line, line.empty() ? "" : ",", name);
    }
    return line + "\n";
  }

  std::string Row(const Cell& cell) override {
    if (!cell.refused.empty()) return Line(cell, nullptr);
    std::string lines;
    for (const Metric& metric : cell.metrics) lines += Line(cell, &metric);
    return lines;
  }

 private:
  std::string Line(const Cell& cell, const Metric* metric) const {
    const nlohmann::ordered_json row = Fields(options_, placement_, cell, metric);
    return options_.format == Format::kJson ? ToJson(row) : ToCsv(row);
  }

  const Options& options_;
  const Placement placement_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<Report> Report::Make(const Options* options, const Placement& placement) {
  if (options->format == Format::kText) return std::make_unique<TextReport>(options, placement);
  return std::make_unique<RowReport>(options, placement);
}

std::string CaseOf(const Options& options, Collective collective) {
  std::string text(kModeNames[static_cast<int>(options.mode)]);
  if (options.request.persistent) text += ", persistent";
  if (options.request.completion == Completion::kTest) text += ", completed by test";
  if (options.request.tests > 0) absl::StrAppend(&text, ", ", options.request.tests, " tests while computing");
  text += options.back_to_back ? ", back-to-back" : ", barrier before";
  if (HasData(collective) && options.memory == Memory::kCopse) text += ", memory of copse_alloc";
  if (CanBeInPlace(collective) && options.in_place) text += ", in place";
  if (Reduces(collective) && options.reproducible) text += ", reproducible";
  if (IsIrregular(collective)) {
    absl::StrAppend(&text, ", ", AbslView(kCountsKindNames[static_cast<int>(options.counts_kind)]), " counts");
    if (HasCountsAtRoot(collective) && options.counts_known) text += " that all know";
  }
  if (HasRoot(collective)) {
    absl::StrAppend(&text, ", root ", options.roots.first);
    if (options.roots.shift > 0) absl::StrAppend(&text, " and on by ", options.roots.shift);
  }
  if (options.check) text += ", checked";
  return text;
}

}  // namespace copse::perftest
