// SPDX-License-Identifier: Apache-2.0
//
// Measures a topology: makes the daemons measure sampled pairs, and solves for links.
#ifndef COPSE_PLANNER_SERVER_TOPOLOGY_PROBE_H_
#define COPSE_PLANNER_SERVER_TOPOLOGY_PROBE_H_

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
#include "planner/coordinator/coordinator.h"
#include "planner/measure/measurement.h"
#include "planner/measure/tree_fit.h"
#include "planner/topology/topology.h"

namespace copse::planner {

struct ProbeOptions {
  // The tree whose links are solved for. It has at least the participating nodes; the others keep their figures.
  // Nothing: a tree is found.
  std::optional<topology::Topology> tree;
  std::vector<std::string> nodes;             // participating nodes, each once: at least two
  absl::Duration budget = absl::Seconds(60);  // no measurement begins after it
  coordinator::MeasureLimits limits = {};     // for one pair
  uint32_t pairs_at_once = 0;                 // 0: chosen by the number of nodes, from 1 to 4
  // Costs that are not measured, for a tree that is found. Cores and host of a node given here are kept.
  topology::CostParameters costs = {};
  std::vector<topology::Node> about = {};
};

// ProbedPair is one pair, with its measurement or the reason for its absence.
struct ProbedPair {
  std::string a, b;
  bool measured = false;
  measure::PairMeasurement measurement;
  int64_t fitted_latency_ns = 0;
  std::string why;  // if it was not measured
};

struct ProbedNode {
  std::string name;
  bool measured = false;  // false: the tree's previous figures, or defaults
  int64_t overhead_ns = 0;
  int64_t receive_overhead_ns = 0;
};

struct ProbeReport {
  topology::Topology topology;  // with measured figures in place of previous ones
  measure::TreeFit fit;         // by index in it
  std::vector<ProbedNode> nodes;
  std::vector<ProbedPair> pairs;
  std::vector<std::string> notes;  // missing measurements, one line each
};

// A TopologyProbe runs once. With a tree it measures pairs that cover each of its links (measure/sampling.h);
// concurrent measurements share no link. Without one it first measures latencies between all nodes, or between some
// that represent the rest, finds the tree (measure/switch_search.h), and then measures rates by the rules for a known
// tree. In the end pairs whose rates are in doubt (measure/tree_fit.h) are measured once more: the better rate and the
// lesser latency count, since a disturbance makes a measurement slower.
//
// A pair that fails is retried once, after the others: a daemon that was stopped has connections to restore. A missing
// measurement (a node is lost meanwhile, two do not reach each other, the time is over) is noted; it is an error only
// if no pair could be measured. Single-threaded: the planner's thread. Deterministic except for the daemons' answers.
class TopologyProbe {
 public:
  using Done = std::function<void(const absl::StatusOr<ProbeReport>&)>;

  // Both pointers must outlive it. It must outlive its pending queries of `coordinator`, so it must not be deleted
  // before `done` was called.
  TopologyProbe(const Clock* clock, coordinator::Coordinator* coordinator, ProbeOptions options, Done done);

  // Starts the probe. `done` is called once, maybe before this returns; the object may be deleted after that, not
  // within.
  void Start();
  // Begins no more measurements: `done` is called with ABORTED as soon as those under way have ended, maybe before this
  // returns.
  void Stop();

 private:
  enum class Phase { kLatencies, kRest, kLinks, kTwice };
  struct Result {
    std::optional<schedule::MeasureReply> latency;  // the newest with pings
    int64_t round_trip_ns = 0;                      // the minimum
    int64_t bandwidth_bytes_per_s = 0;              // the best
    absl::Status status;                            // the newest failure
  };

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
  std::vector<measure::PairMeasurement> Measurements() const;
  // Converts a measured pair: removes overheads and wakes.
  measure::PairMeasurement MeasurementOf(const measure::NodePair& pair, const Result& result) const;
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
  // By node index: the tree's nodes, or those for which a tree is sought; `rest_` are measured against some of them.
  std::vector<std::string> names_, rest_;
  std::vector<measure::NodePair> queue_;  // the last is next. While the rest is measured, `a` is an index in rest_
  std::set<measure::NodePair> running_;
  bool starting_ = false;
  bool reported_ = false;
  bool out_of_time_ = false;
  bool stopped_ = false;
  std::map<measure::NodePair, Result> results_;
  std::set<measure::NodePair> again_;         // failed once in this phase
  std::map<measure::NodePair, Result> kept_;  // while the rest is measured: results among its representatives
  std::map<std::string, std::vector<int64_t>> send_ns_, receive_ns_;  // by node
  std::vector<std::string> notes_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_SERVER_TOPOLOGY_PROBE_H_
