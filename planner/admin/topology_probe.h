// SPDX-License-Identifier: Apache-2.0
//
// Measures a topology: makes the daemons measure sampled pairs, and solves for links.
#ifndef COPSE_PLANNER_ADMIN_TOPOLOGY_PROBE_H_
#define COPSE_PLANNER_ADMIN_TOPOLOGY_PROBE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "planner/admin/pair_results.h"
#include "planner/coordinator/coordinator.h"
#include "planner/measure/measurement.h"
#include "planner/measure/tree_fit.h"
#include "planner/topology/topology.h"

namespace copse::planner {

struct ProbeOptions {
  // It is the known tree whose links are measured. It has at least the participating nodes; all others keep their
  // figures. nullopt: the tree is found by latencies.
  std::optional<topology::Topology> tree;
  std::vector<std::string> nodes;             // participating nodes, each once: at least two
  absl::Duration budget = absl::Seconds(60);  // no measurement begins after it
  coordinator::MeasureLimits limits = {};     // for one pair
  uint32_t pairs_at_once = 0;                 // 0: chosen by the number of nodes, from 1 to 4
  // If the tree is found, it takes these: the cost parameters, which are not measured, and nodes whose cores and host
  // are kept.
  topology::CostParameters costs = {};
  std::vector<topology::Node> about = {};
};

// A ProbedPair is one pair with its measurement, or with the reason for which there is none.
struct ProbedPair {
  std::string a, b;
  bool measured = false;
  measure::PairMeasurement measurement;
  int64_t fitted_latency_ns = 0;
  std::string why;  // the reason, if not measured
};

struct ProbedNode {
  std::string name;
  bool measured = false;  // false: the figures are those of the known tree, or defaults
  int64_t overhead_ns = 0;
  int64_t receive_overhead_ns = 0;
};

struct ProbeReport {
  topology::Topology topology;  // the tree with measured figures
  measure::TreeFit fit;         // by the topology's indices
  std::vector<ProbedNode> nodes;
  std::vector<ProbedPair> pairs;
  std::vector<std::string> notes;  // nodes and measurements that are missing, one line each
};

// A TopologyProbe runs once. With a known tree it measures pairs that cover each of the tree's links
// (measure/sampling.h); concurrent measurements share no link. Without one it first measures latencies between all
// nodes, or between some that represent the rest, finds the tree (measure/switch_search.h), and then measures
// bandwidths as for a known tree. At the end, pairs whose bandwidths are in doubt (measure/tree_fit.h) are measured
// once more.
//
// A pair that fails is retried once, after the others, since a daemon that was stopped has connections to restore. A
// missing measurement (a node is lost, two nodes do not reach each other, the time is over) is reported with its
// reason; it is an error only if the tree cannot be found or no pair could be measured. Thread-compatible: only the
// planner's thread calls it. Deterministic except for the daemons' replies.
class TopologyProbe {
 public:
  using Done = std::function<void(const absl::StatusOr<ProbeReport>&)>;

  // `*clock` and `*coordinator` must outlive this object, which must not be deleted before `done` was called, since
  // measurements in flight refer to it.
  TopologyProbe(const Clock* clock, coordinator::Coordinator* coordinator, ProbeOptions options, Done done);

  // Starts the probe. `done` is called once, maybe before this returns, with the report or an error; the object may be
  // deleted after `done` has returned, not within it.
  void Start();
  // Begins no more measurements: `done` is called with ABORTED when those in flight have ended, maybe before this
  // returns.
  void Stop();

 private:
  // kLatencies measures between all nodes, or those that represent the rest; kRest between the rest and these; kLinks
  // measures pairs that cover the tree; kTwice, pairs in doubt.
  enum class Phase { kLatencies, kRest, kLinks, kTwice };

  void Queue(std::vector<measure::NodePair> pairs);
  void StartMore();
  void OnMeasured(measure::NodePair pair, const absl::StatusOr<schedule::MeasureReply>& reply);
  void PhaseOver();
  void FindTree();
  void AttachRest();
  void MeasureLinks();
  void MeasureTwice();
  void Report();
  void Fail(const absl::Status& status);
  bool measures_rates() const { return phase_ == Phase::kLinks || phase_ == Phase::kTwice; }
  bool MayStart(const measure::NodePair& pair) const;
  std::pair<std::string, std::string> NamesOf(const measure::NodePair& pair) const {
    return {phase_ == Phase::kRest ? rest_[pair.a] : names_[pair.a], names_[pair.b]};
  }

  const Clock* const clock_;
  coordinator::Coordinator* const coordinator_;
  ProbeOptions options_;
  Done done_;
  absl::Time began_;
  Phase phase_ = Phase::kLinks;
  std::optional<topology::Topology> tree_;
  // These are names by node index: names_ are the tree's nodes, or those for which a tree is sought; rest_ are the
  // others, which are measured against some of them.
  std::vector<std::string> names_, rest_;
  std::vector<measure::NodePair> queue_;  // the last is next; in kRest, `a` is an index into rest_
  std::set<measure::NodePair> running_;
  bool starting_ = false;
  bool reported_ = false;
  bool out_of_time_ = false;
  bool stopped_ = false;
  PairResults results_;
  std::set<measure::NodePair> again_;  // pairs that failed once in this phase
  PairResults kept_;                   // results between the nodes that represent the rest, during kRest
  std::map<std::string, std::vector<int64_t>> send_ns_, receive_ns_;  // by node name
  std::vector<std::string> notes_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_ADMIN_TOPOLOGY_PROBE_H_
