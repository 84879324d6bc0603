// SPDX-License-Identifier: Apache-2.0
//
// What benchmarks report: rows, as JSON lines with the fields of docs/reference and as a table.
#ifndef COPSE_BENCH_ROW_H_
#define COPSE_BENCH_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace copse::bench {

// One measured cell. Cases say in words what was done: collective, size, `idle` or `busy`, and so on.
struct Row {
  std::string bench;
  std::string what;    // the field `case`
  std::string system;  // copse, mpich, openmpi, ucx, sockets, ...
  std::string peer;    // of ratios, which are system / peer; in JSON only there
  std::string collective;
  std::string algorithm;
  uint32_t nodes = 0;
  uint32_t ppn = 0;
  uint64_t bytes = 0;
  std::string metric;  // "latency", "ratio", ..., or "unfinished" for a cell that took too long
  std::string unit;
  uint32_t runs = 0;
  double p10 = 0, median = 0, p90 = 0;
  uint64_t seed = 0;
  std::string note;
  // The most that the median may be; rows without a target have none.
  std::optional<double> target;
};

// Behind the name of an MPI library: with Copse in front of it.
inline constexpr char kUnderMpi[] = "+copse";

// Sets p10, median, p90 and runs. `values` must not be empty; of an even number the median is the mean of the middle
// two.
void Summarize(std::vector<double> values, Row* row);

// A figure beside those of `row`: the same row with another metric.
Row Figure(Row row, const std::string& metric, const std::string& unit, std::vector<double> values);

// These take at least one value.
double Median(std::vector<double> values);
double Mean(const std::vector<double>& values);

// One of the MPI libraries alone.
bool IsMpi(const std::string& system);

// Whether Copse makes the calls: copse, one of its variants (copse-...), or either under an MPI (openmpi+copse).
bool HasCopse(const std::string& system);

// Whether the row has a target and keeps it.
bool Met(const Row& row);

// Where and when all rows of one call of tools/bench were measured.
struct Provenance {
  std::string date;     // YYYY-MM-DD
  std::string commit;   // abbreviated; "" if unknown
  std::string command;  // as the user gave it
  std::string machine;  // DescribeMachine
};

std::string ToJson(const Row& row, const Provenance& provenance);

// Two lines of heading; one line a row.
std::string TableHeading();
std::string ToTableLine(const Row& row);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ROW_H_
