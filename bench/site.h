// SPDX-License-Identifier: Apache-2.0
//
// Where systems are compared: nodes on this machine, and how each system's ranks start there.
#ifndef COPSE_BENCH_SITE_H_
#define COPSE_BENCH_SITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "integration_tests/procs/child_process.h"
#include "integration_tests/procs/process_cluster.h"

namespace copse::bench {

// The ranks of one launch. What is said to and by rank 0 goes through `front`: rank 0 itself, or a launcher. Whatever
// still runs ends with it.
struct RankProcesses {
  RankProcesses() = default;
  RankProcesses(RankProcesses&&) = default;
  ~RankProcesses();

  std::vector<std::unique_ptr<procs::ChildProcess>> processes;  // the front first
  procs::ChildProcess* front() const { return processes.front().get(); }
  // OK once all have ended with exit code 0; an error if one ended otherwise, or still runs then.
  absl::Status AwaitEnd(absl::Duration timeout) const;
};

// A Site has Copse's daemons running; they sleep while others are measured. Rank r is on node r / ppn.
// Thread-compatible.
class Site {
 public:
  // `parent`: where its folder is made, as ProcessClusterOptions has it.
  static absl::StatusOr<std::unique_ptr<Site>> Open(uint32_t nodes, const std::string& parent);

  // Ranks of rank_main.c with `arguments`. Systems: copse, openmpi (which yields when idle), mpich, sockets.
  // INVALID_ARGUMENT: another. NOT_FOUND: its launcher is not installed.
  absl::StatusOr<RankProcesses> StartRanks(const std::string& system, uint32_t ppn,
                                           const std::vector<std::string>& arguments);
  // Of the plan that serves the call, in the team that exists now.
  absl::StatusOr<std::string> AlgorithmOf(const std::string& collective, uint64_t bytes) const;

  uint32_t nodes() const { return nodes_; }
  // In cases: " on loopback", or nothing if each node has a network of its own.
  std::string Suffix() const { return ", loopback"; }
  procs::ProcessCluster* cluster() { return &cluster_; }

 private:
  Site(uint32_t nodes, const std::string& parent) : nodes_(nodes), cluster_({.parent = parent}) {}

  absl::StatusOr<RankProcesses> StartCopse(uint32_t ppn, std::vector<std::string> arguments);
  absl::StatusOr<RankProcesses> StartSockets(uint32_t ppn, std::vector<std::string> arguments);
  absl::StatusOr<RankProcesses> StartMpi(const std::string& system, uint32_t ppn, std::vector<std::string> arguments);
  std::string NextLog();

  const uint32_t nodes_;
  uint32_t logs_ = 0;
  procs::ProcessCluster cluster_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_SITE_H_
