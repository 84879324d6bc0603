// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "bench/machine.h"
#include "integration_tests/procs/process_cluster.h"
#include "integration_tests/procs/programs.h"
#include "proto/copse/v1/admin.pb.h"

namespace copse::bench {
namespace {

using procs::ChildProcess;
using procs::ProcessCluster;

struct Case {
  const char* collective;
  uint64_t bytes;
};
constexpr Case kCases[] = {{"allreduce", 48}, {"barrier", 0}};

constexpr absl::Duration kEndTimeout = absl::Seconds(20);

struct Size {
  uint32_t runs;
  uint32_t calls;  // a run
};

absl::StatusOr<std::string> AlgorithmOf(const ProcessCluster& cluster, const Case& c) {
  ASSIGN_OR_RETURN(const v1::ListPlansReply plans, cluster.admin().ListPlans(absl::Seconds(5)));
  for (const v1::PlanRow& plan : plans.plans()) {
    if (plan.collective() == c.collective && plan.bytes_min() <= c.bytes && c.bytes <= plan.bytes_max()) {
      return plan.algorithm();
    }
  }
  return absl::NotFoundError(absl::StrCat("no plan for ", c.collective));
}

// One rank on each node: rank 0 says how long a call took on average, once a run.
absl::Status MeasureCopse(ProcessCluster* cluster, const Options& options, const Case& c, const Size& size, Row* row) {
  ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/latency_rank"));
  std::vector<std::unique_ptr<ChildProcess>> ranks;
  for (uint32_t rank = 0; rank < row->nodes; ++rank) {
    ASSIGN_OR_RETURN(auto child, cluster->StartApplication(
                                     rank, {program, absl::StrCat(rank), absl::StrCat(row->nodes), c.collective,
                                            absl::StrCat(c.bytes), absl::StrCat(size.runs), absl::StrCat(size.calls)}));
    ranks.push_back(std::move(child));
  }
  const absl::Time deadline = absl::Now() + options.cell_timeout;
  std::vector<double> microseconds;
  while (microseconds.size() < size.runs) {
    const absl::StatusOr<std::string> line = ranks[0]->ReadLine(deadline - absl::Now());
    if (absl::IsDeadlineExceeded(line.status())) {
      row->metric = "unfinished";
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(line.status());
    microseconds.emplace_back();
    if (!absl::SimpleAtod(*line, &microseconds.back())) {
      return absl::InternalError(absl::StrCat("latency_rank: not a number: ", *line));
    }
  }
  ASSIGN_OR_RETURN(row->algorithm, AlgorithmOf(*cluster, c));
  Summarize(microseconds, row);
  // They have kept their team so far, so that its plans could be asked for.
  for (const auto& child : ranks) child->CloseInput();
  for (const auto& child : ranks) {
    RETURN_IF_ERROR(child->AwaitEnd(kEndTimeout));
    if (child->exit_code() != 0) return absl::InternalError(absl::StrCat("latency_rank: ", child->DescribeEnd()));
  }
  return absl::OkStatus();
}

absl::Status RunNodes(const Options& options, uint32_t nodes, const Size& size, const std::string& machine,
                      const std::function<void(const Row&)>& report) {
  for (const Case& c : kCases) {
    Row row;
    row.bench = "latency";
    const std::string size_text = c.bytes == 0 ? "" : absl::StrCat(" ", c.bytes, " B");
    row.what = absl::StrCat(c.collective, size_text, ", idle, loopback, back-to-back");
    row.system = "copse";
    row.collective = c.collective;
    row.nodes = nodes;
    row.ppn = 1;
    row.bytes = c.bytes;
    row.metric = "latency";
    row.unit = "us";
    row.note = absl::StrCat("means of ", size.calls, " calls; ", machine);
    // A cluster for each, so that an unfinished one leaves nothing to the next.
    ProcessCluster cluster({.parent = options.folder});
    absl::Status status = cluster.Start({.nodes = nodes});
    if (status.ok()) status = MeasureCopse(&cluster, options, c, size, &row);
    if (!status.ok()) {
      cluster.DumpLogs(stderr);
      return status;
    }
    report(row);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLatency(const Options& options, const std::function<void(const Row&)>& report) {
  const Size size = options.quick ? Size{.runs = 5, .calls = 50} : Size{.runs = 30, .calls = 200};
  const std::vector<uint32_t> node_counts =
      options.quick ? std::vector<uint32_t>{2, 4} : std::vector<uint32_t>{2, 4, 8, 16};
  const std::string machine = DescribeMachine();  // before we load it ourselves
  for (const uint32_t nodes : node_counts) RETURN_IF_ERROR(RunNodes(options, nodes, size, machine, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
