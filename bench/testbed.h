// SPDX-License-Identifier: Apache-2.0
//
// Sets up emulated nodes on this machine, and starts the ranks of each compared system on them.
#ifndef COPSE_BENCH_TESTBED_H_
#define COPSE_BENCH_TESTBED_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "bench/temporary_file.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"

namespace copse::bench {

// RankProcesses owns the ranks of one launch. Input and output of rank 0 go through `front`, which is rank 0 itself or
// a launcher. The destructor ends processes that still run.
struct RankProcesses {
  RankProcesses() = default;
  RankProcesses(RankProcesses&&) = default;
  ~RankProcesses();

  std::vector<std::unique_ptr<procs::ChildProcess>> processes;  // the front first
  procs::ChildProcess* front() const { return processes.front().get(); }
  // Waits until all have ended. Returns an error if one has another exit code than 0, or still runs after `timeout`.
  absl::Status AwaitEnd(absl::Duration timeout) const;
  // Describes the first process that has failed, with its last output: ": rank 3: exit code 1: rank_copse: team: ...".
  // Returns an empty string if none has failed.
  std::string DescribeFailed() const;
};

// Starts rank r of Copse's rank program on node r / ppn of the cluster, for all of its `nodes`. Each job has a team
// `bench` of its own; empty: the cluster's usual job. `user`: whose processes they are; 0: the caller's.
absl::StatusOr<RankProcesses> StartCopseRanks(procs::ProcessCluster* cluster, uint32_t nodes, uint32_t ppn,
                                              const std::vector<std::string>& arguments, const std::string& job = "",
                                              uint32_t user = 0);

// Runs a measurement on the cluster, and stops that. If the measurement fails, the cluster's logs go to standard error.
absl::Status MeasureOn(procs::ProcessCluster* cluster, absl::FunctionRef<absl::Status()> measure);

struct TestbedOptions {
  uint32_t nodes = 0;
  std::string parent;  // where its folders are made; empty: the system's
  // All nodes are on loopback, which needs no root privileges; only for Copse.
  bool loopback = false;
  // One-way latency between nodes, emulated by copse-fabric; 0: a bridge connects the nodes.
  absl::Duration latency;
  // A topology file for copse-fabric with `nodes` nodes, used instead of `latency`; empty: none.
  std::string fabric;
  // The topology file of the planner on a `fabric`; empty: it knows nothing of the network.
  std::string fabric_known_as;
  // Bandwidth of every node's link, in each direction; 0: unlimited. A fabric has its own bandwidths.
  int64_t rate_bits_per_s = 0;
  // TCP's congestion control (netns::NetworkOptions); empty: the system's.
  std::string congestion_control;
  // Algorithm of all plans of collectives that it can carry; empty: the planner chooses.
  std::string algorithm;
  std::map<std::string, std::string> daemon_settings;  // keys of copsed's configuration
  std::string transport;                               // between daemons: `tcp`, `tcp-encrypted`; empty: UCX
};

// RankLaunch describes how ranks are started.
struct RankLaunch {
  std::string program;  // an MPI program, which is built as PROGRAM_LIBRARY (Bazel's name); empty: that of rank_main.c
  uint32_t ppn = 1;
  bool in_turn = false;  // nodes get one rank after the other; of MPI alone
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;
};

// A Testbed runs Copse's planner and daemons, which sleep while other systems are measured. Each node is a network
// namespace, and the planner knows the network and that all nodes share this machine's cores. Several testbeds can
// exist and are isolated from each other. Rank r is on node r / ppn. Thread-compatible.
class Testbed {
 public:
  // Starts the nodes and daemons. Errors: PERMISSION_DENIED or UNAVAILABLE if namespaces cannot be made; those of the
  // cluster's start.
  static absl::StatusOr<std::unique_ptr<Testbed>> Open(const TestbedOptions& options);

  // Systems: copse, sockets, openmpi (which yields when idle), mpich, and either with kUnderMpi behind: under
  // copse-run. MPI's ranks find a file in which they may meet by BENCH_MEETING, and their number by BENCH_SIZE.
  // INVALID_ARGUMENT: another system, or all but Copse on loopback. NOT_FOUND: its launcher is not installed.
  absl::StatusOr<RankProcesses> StartRanks(const std::string& system, const RankLaunch& launch);

  struct PlanSummary {
    std::string algorithm;
    uint32_t hops = 0;                // between nodes, on its critical path
    std::vector<uint32_t> neighbors;  // by node: with how many others it exchanges messages
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
  // Returns the path of a new file in the cluster's folder, unique to this launch.
  std::string NextFile(const std::string& kind);

  const TestbedOptions options_;
  TemporaryFile topology_, rules_;  // the planner reads them
  uint32_t files_ = 0;
  std::unique_ptr<procs::ProcessCluster> cluster_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_TESTBED_H_
