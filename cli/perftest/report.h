// SPDX-License-Identifier: Apache-2.0
//
// Formats the results that rank 0 prints.
#ifndef COPSE_CLI_PERFTEST_REPORT_H_
#define COPSE_CLI_PERFTEST_REPORT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cli/perftest/measurement.h"
#include "cli/perftest/options.h"

namespace copse::perftest {

struct Placement {
  uint32_t ranks = 0, nodes = 0, ranks_per_node = 0;
};

// A Report formats the results of cells as whole lines of text. Before the cells of each collective, Heading must be
// called. Thread-compatible.
class Report {
 public:
  virtual ~Report() = default;
  // Returns the text before the first cell of a collective; empty in JSON, and in CSV except at the first call.
  virtual std::string Heading(Collective collective) = 0;
  virtual std::string Row(const Cell& cell) = 0;

  // Makes a report in the options' format. `*options` must outlive it.
  static std::unique_ptr<Report> Make(const Options* options, const Placement& placement);
};

// Describes how calls are made: "blocking, barrier before".
std::string CaseOf(const Options& options, Collective collective);

}  // namespace copse::perftest

#endif  // COPSE_CLI_PERFTEST_REPORT_H_
