// SPDX-License-Identifier: Apache-2.0
//
// Where systems are compared: nodes on this machine, and how each system's ranks start there.
#ifndef COPSE_BENCH_SITE_H_
#define COPSE_BENCH_SITE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
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

struct SiteOptions {
  uint32_t nodes = 0;
  std::string parent;  // where its folders are made; empty: the system's
  // Without root: all on loopback, for Copse alone.
  bool loopback = false;
  // One way from node to node, by copse-fabric; 0: a bridge.
  absl::Duration latency;
  // In place of `latency`: a topology file for copse-fabric, with as many nodes.
  std::string fabric;
  // Of every node's link, in each direction; 0: as fast as it goes. Not on a fabric.
  int64_t rate_bits_per_s = 0;
  // Of all plans of all teams that it can carry; empty: the planner's choice.
  std::string algorithm;
  std::map<std::string, std::string> daemon_settings;  // keys of copsed's configuration
};

// Links that benchmarks of long messages have: one far slower than processors, one that keeps them busy.
struct LinkRate {
  int64_t bits_per_s;
  const char* name;
};
inline constexpr LinkRate kSlowLink = {200'000'000, "200 Mbit/s"}, kFastLink = {1'000'000'000, "1 Gbit/s"};

// A Site has Copse's daemons running; they sleep while others are measured. Each node is a network namespace, and the
// planner knows the network and that all nodes share this machine's cores; several sites do not meet. Rank r is on node
// r / ppn. Thread-compatible.
class Site {
 public:
  // PERMISSION_DENIED, UNAVAILABLE: there can be no namespaces here.
  static absl::StatusOr<std::unique_ptr<Site>> Open(const SiteOptions& options);
  ~Site();

  // Ranks of rank_main.c with `arguments`. Systems: copse, sockets, and those of StartMpi. INVALID_ARGUMENT: another,
  // or all but Copse on loopback. NOT_FOUND: its launcher is not installed.
  absl::StatusOr<RankProcesses> StartRanks(const std::string& system, uint32_t ppn,
                                           const std::vector<std::string>& arguments);
  // Ranks of any MPI program, which is built as PROGRAM_LIBRARY (Bazel's name). Systems: openmpi (which yields when
  // idle), mpich, and either with kUnderMpi behind: under copse-run. Errors: as StartRanks.
  struct MpiRanks {
    std::string program;
    uint32_t ppn = 1;
    bool in_turn = false;  // nodes get one rank after the other
    std::vector<std::string> arguments;
    std::map<std::string, std::string> environment;
  };
  absl::StatusOr<RankProcesses> StartMpi(const std::string& system, const MpiRanks& ranks);
  struct Plan {
    std::string algorithm;
    uint32_t hops = 0;                 // between nodes, on its critical path
    std::vector<uint32_t> neighbours;  // by node: with how many others it exchanges messages
  };
  // The plan that serves the call, in the team that exists now; calls longer than all plans are for are run by that of
  // the longest, irregular ones by those of their regular form.
  absl::StatusOr<Plan> PlanOf(const std::string& collective, uint64_t bytes) const;

  uint32_t nodes() const { return options_.nodes; }
  absl::Duration latency() const { return options_.latency; }
  // What cases say of it: "", ", loopback".
  std::string Suffix() const { return options_.loopback ? ", loopback" : ""; }
  procs::ProcessCluster* cluster() { return cluster_.get(); }

 private:
  explicit Site(SiteOptions options) : options_(std::move(options)) {}

  absl::Status Start();
  // Files that the planner reads.
  absl::Status WriteTopology();
  absl::Status WriteRules();
  absl::StatusOr<RankProcesses> StartCopse(uint32_t ppn, std::vector<std::string> arguments);
  absl::StatusOr<RankProcesses> StartSockets(uint32_t ppn, const std::vector<std::string>& arguments);
  std::string NextLog();

  const SiteOptions options_;
  std::string topology_file_, rules_file_;
  uint32_t logs_ = 0;
  std::unique_ptr<procs::ProcessCluster> cluster_;
};

}  // namespace copse::bench

#endif  // COPSE_BENCH_SITE_H_
