// SPDX-License-Identifier: Apache-2.0
//
// Defines the rows that benchmarks report, as JSON lines with the fields of docs/reference and as a table.
#ifndef COPSE_BENCH_ROW_H_
#define COPSE_BENCH_ROW_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace copse::bench {

// A Row is one measured cell. Its case describes the measurement in words: collective, size, `idle` or `busy`, and so
// on.
struct Row {
  std::string bench;
  std::string what;    // the field `case`
  std::string system;  // copse, mpich, openmpi, ucx, sockets, ...
  std::string peer;    // for a ratio, which is system / peer; otherwise empty and not in JSON
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
  // Upper limit of the median; nothing if the row has no target.
  std::optional<double> target;
};

// Suffix to the name of an MPI library whose collectives are made by Copse.
inline constexpr char kUnderMpi[] = "+copse";

// Sets p10, median, p90 and runs. `values` must not be empty; of an even number the median is the mean of the middle
// two.
void Summarize(std::vector<double> values, Row* row);

// Returns a copy of `row` with another metric and unit, and with the summary of `values`.
Row Figure(Row row, const std::string& metric, const std::string& unit, std::vector<double> values);

// Returns a copy of `row` with metric "unfinished", and with the reason as its note.
Row Unfinished(Row row, std::string why);
// `values` must not be empty.
double Median(std::vector<double> values);

// Returns whether the system is an MPI library without Copse.
bool IsMpi(const std::string& system);

// Returns whether Copse makes the calls: copse, one of its variants (copse-...), or an MPI library with kUnderMpi.
bool HasCopse(const std::string& system);

// Returns whether the row has a target and meets it.
bool Met(const Row& row);

// Provenance says where and when all rows of one run of tools/bench were measured.
struct Provenance {
  std::string date;     // YYYY-MM-DD
  std::string commit;   // abbreviated; "" if unknown
  std::string command;  // the user's command line
  std::string machine;  // result of DescribeMachine
};

std::string ToJson(const Row& row, const Provenance& provenance);

// TableHeading returns two lines, ToTableLine one line for each row.
std::string TableHeading();
std::string ToTableLine(const Row& row);

}  // namespace copse::bench

#endif  // COPSE_BENCH_ROW_H_
