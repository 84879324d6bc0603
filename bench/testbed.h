// SPDX-License-Identifier: Apache-2.0
//
// Where systems are compared: nodes on this machine, and how each system's ranks start there.
#ifndef COPSE_BENCH_TESTBED_H_
#define COPSE_BENCH_TESTBED_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/temporary_file.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"

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
  // The first that has failed, and what it said last: ": rank 3: exit code 1: rank_copse: team: ...". Empty if none
  // has.
  std::string DescribeFailed() const;
};

// Starts rank r of Copse's rank program on node r / ppn of the cluster, for all of its `nodes`.
absl::StatusOr<RankProcesses> StartCopseRanks(procs::ProcessCluster* cluster, uint32_t nodes, uint32_t ppn,
                                              const std::vector<std::string>& arguments);

struct TestbedOptions {
  uint32_t nodes = 0;
  std::string parent;  // where its folders are made; empty: the system's
  // Without root: all on loopback, for Copse alone.
  bool loopback = false;
  // One way from node to node, by copse-fabric; 0: a bridge.
  absl::Duration latency;
  // In place of `latency`: a topology file for copse-fabric, with as many nodes.
  std::string fabric;
  // The rate of every node's link, in each direction; 0: as fast as it goes. A fabric has its own.
  int64_t rate_bits_per_s = 0;
  // All plans have it that it can carry; empty: the planner chooses.
  std::string algorithm;
  std::map<std::string, std::string> daemon_settings;  // keys of copsed's configuration
};

// How ranks are started.
struct RankLaunch {
  std::string program;  // an MPI program, which is built as PROGRAM_LIBRARY (Bazel's name); empty: that of rank_main.c
  uint32_t ppn = 1;
  bool in_turn = false;  // nodes get one rank after the other; of MPI alone
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};

// A Testbed has Copse's daemons running; they sleep while others are measured. Each node is a network namespace, and
// the planner knows the network and that all nodes share this machine's cores; several testbeds do not meet. Rank r is
// on node r / ppn. Thread-compatible.
class Testbed {
 public:
  // PERMISSION_DENIED, UNAVAILABLE: there can be no namespaces here.
  static absl::StatusOr<std::unique_ptr<Testbed>> Open(const TestbedOptions& options);

  // Systems: copse, sockets, openmpi (which yields when idle), mpich, and either with kUnderMpi behind: under
  // copse-run. MPI's ranks find a file in which they may meet by BENCH_MEETING, and their number by BENCH_SIZE.
  // INVALID_ARGUMENT: another system, or all but Copse on loopback. NOT_FOUND: its launcher is not installed.
  absl::StatusOr<RankProcesses> StartRanks(const std::string& system, const RankLaunch& launch);

  struct PlanSummary {
    std::string algorithm;
    uint32_t hops = 0;                 // between nodes, on its critical path
    std::vector<uint32_t> neighbours;  // by node: with how many others it exchanges messages
  };
  // Describes the plan that serves the call in the newest team (bench/plans.h).
  absl::StatusOr<PlanSummary> SummarizePlan(const std::string& collective, uint64_t bytes) const;

  const TestbedOptions& options() const { return options_; }
  uint32_t nodes() const { return options_.nodes; }
  procs::ProcessCluster* cluster() { return cluster_.get(); }

 private:
  explicit Testbed(TestbedOptions options) : options_(std::move(options)) {}

  absl::Status Start();
  std::string TopologyText() const;
  std::string RulesText() const;
  absl::StatusOr<RankProcesses> StartSockets(const RankLaunch& launch);
  absl::StatusOr<RankProcesses> StartMpi(const std::string& system, const RankLaunch& launch);
  // A name in the cluster's folder that no other launch has.
  std::string NextFile(const std::string& kind);

  const TestbedOptions options_;
  TemporaryFile topology_, rules_;  // the planner reads them
  uint32_t files_ = 0;
  std::unique_ptr<procs::ProcessCluster> cluster_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_TESTBED_H_
