// SPDX-License-Identifier: Apache-2.0
#include "planner/admin/topology_probe.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "base/log.h"
#include "planner/measure/link_paths.h"
#include "planner/measure/sampling.h"
#include "planner/measure/switch_search.h"

namespace copse::planner {
namespace {

using measure::NodePair;
using measure::PairMeasurement;

constexpr size_t kPairsAtOnceMax = 4;
// For every kNodesPerPair nodes, one pair is measured concurrently, unless ProbeOptions sets the number of pairs.
constexpr size_t kNodesPerPair = 8;

}  // namespace

TopologyProbe::TopologyProbe(const Clock* clock, coordinator::Coordinator* coordinator, ProbeOptions options, Done done)
    : clock_(clock),
      coordinator_(coordinator),
      options_(std::move(options)),
      done_(std::move(done)),
      results_((options_.tree.has_value() ? options_.tree->costs() : options_.costs).wake_ns),
      kept_(results_) {}

void TopologyProbe::Start() {
  began_ = clock_->Now();
  if (options_.nodes.size() < 2) {
    return Fail(absl::FailedPreconditionError(
        absl::StrCat("probe: too few nodes to measure between (nodes=", options_.nodes.size(), ", limit=2)")));
  }
  if (options_.pairs_at_once == 0) {
    options_.pairs_at_once =
        static_cast<uint32_t>(std::clamp<size_t>(options_.nodes.size() / kNodesPerPair, 1, kPairsAtOnceMax));
  }
  if (options_.tree.has_value()) {
    tree_ = options_.tree;
    for (const topology::Node& node : tree_->nodes()) names_.push_back(node.name);
    return MeasureLinks();
  }
  // The chosen nodes are spread evenly over the list, since adjacent entries are likely to be near each other.
  const size_t count = options_.nodes.size();
  const size_t standing = std::min<size_t>(count, measure::kAllPairsNodesMax);
  std::set<size_t> chosen;
  for (size_t i = 0; i < standing; ++i) chosen.insert(i * count / standing);
  for (size_t i = 0; i < count; ++i) (chosen.count(i) != 0 ? names_ : rest_).push_back(options_.nodes[i]);
  phase_ = Phase::kLatencies;
  std::vector<uint32_t> all(names_.size());
  std::iota(all.begin(), all.end(), 0);
  Queue(measure::AllPairs(all));
}

void TopologyProbe::Stop() {
  stopped_ = out_of_time_ = true;
  queue_.clear();
  StartMore();
}

void TopologyProbe::MeasureLinks() {
  phase_ = Phase::kLinks;
  std::vector<bool> takes_part(names_.size());
  for (const std::string& name : options_.nodes) {
    if (const auto node = tree_->FindNode(name)) takes_part[*node] = true;
  }
  Queue(measure::SampleTree(*tree_, takes_part));
}

void TopologyProbe::MeasureTwice() {
  const absl::StatusOr<std::vector<NodePair>> pairs = measure::DoubtfulRates(*tree_, results_.Measurements());
  if (!pairs.ok()) return Fail(pairs.status());
  phase_ = Phase::kTwice;
  Queue(*pairs);
}

// --- Measuring ---

void TopologyProbe::Queue(std::vector<NodePair> pairs) {
  again_.clear();
  std::reverse(pairs.begin(), pairs.end());
  queue_ = std::move(pairs);
  StartMore();
}

// Returns whether the pair shares no node with a measurement in flight and, when bandwidths are measured, no link.
bool TopologyProbe::MayStart(const NodePair& pair) const {
  for (const NodePair& other : running_) {
    const bool shares_a = phase_ != Phase::kRest && (other.a == pair.b || other.b == pair.a);
    if (other.a == pair.a || other.b == pair.b || shares_a) return false;
  }
  if (!measures_rates()) return true;
  const measure::LinkPaths paths(&*tree_);
  std::vector<uint32_t> links, busy;
  paths.Between(pair, &links);
  for (const NodePair& other : running_) {
    paths.Between(other, &busy);
    for (const uint32_t link : busy) {
      if (std::find(links.begin(), links.end(), link) != links.end()) return false;
    }
  }
  return true;
}

void TopologyProbe::StartMore() {
  if (starting_ || reported_) return;  // reentered from Measure: the outer call continues
  starting_ = true;
  bool any = true;
  while (any && !reported_) {
    any = false;
    if (clock_->Now() - began_ >= options_.budget && !queue_.empty()) {
      out_of_time_ = true;
      notes_.push_back(absl::StrCat(
          "the time was over before all was measured", phase_ == Phase::kTwice ? " twice that is in doubt" : "",
          " (pairs left=", queue_.size(), ", seconds=", absl::ToDoubleSeconds(options_.budget), ")"));
      queue_.clear();
    }
    for (size_t i = queue_.size(); i-- > 0 && running_.size() < options_.pairs_at_once;) {
      const NodePair pair = queue_[i];
      if (!MayStart(pair)) continue;
      queue_.erase(queue_.begin() + static_cast<ptrdiff_t>(i));
      running_.insert(pair);
      any = true;
      coordinator::MeasureLimits limits = options_.limits;
      if (!measures_rates()) {
        limits.bulk_bytes_max = 0;
      } else if (results_.IsMeasured(pair)) {
        limits.pings = 1;  // the latency is known; this is the daemons' minimum
      }
      const auto [a, b] = NamesOf(pair);
      coordinator_->queries().Measure(
          a, b, limits, [this, pair](const absl::StatusOr<schedule::MeasureReply>& reply) { OnMeasured(pair, reply); });
    }
    if (queue_.empty() && running_.empty() && !reported_) {
      PhaseOver();
      any = true;
    }
  }
  starting_ = false;
}

void TopologyProbe::OnMeasured(NodePair pair, const absl::StatusOr<schedule::MeasureReply>& reply) {
  running_.erase(pair);
  if (!reply.ok()) {
    results_.Fail(pair, reply.status());
    COPSE_LOG(kInfo, "probe: ", reply.status().message());
    // The front of the queue is measured last.
    if (!out_of_time_ && phase_ != Phase::kTwice && again_.insert(pair).second) queue_.insert(queue_.begin(), pair);
  } else {
    const auto [a, b] = NamesOf(pair);
    COPSE_LOG(kDebug, "probe: node ", a, " to node ", b, ": pings=", reply->pings,
              ", round_trip_ns=", reply->round_trip_ns, ", median_ns=", reply->round_trip_median_ns,
              ", overheads_ns=", reply->send_ns, " ", reply->peer_receive_ns, " ", reply->peer_send_ns, " ",
              reply->receive_ns, ", bulk_bytes=", reply->bulk_bytes, ", bulk_ns=", reply->bulk_ns);
    send_ns_[a].push_back(reply->send_ns);
    receive_ns_[a].push_back(reply->receive_ns);
    send_ns_[b].push_back(reply->peer_send_ns);
    receive_ns_[b].push_back(reply->peer_receive_ns);
    results_.Add(pair, *reply);
  }
  StartMore();
}

// --- Solving ---

void TopologyProbe::PhaseOver() {
  if (stopped_) return Fail(absl::AbortedError("probe: stopped"));
  switch (phase_) {
    case Phase::kLatencies:
      return FindTree();
    case Phase::kRest:
      return AttachRest();
    case Phase::kLinks:
      return out_of_time_ ? Report() : MeasureTwice();
    case Phase::kTwice:
      return Report();
  }
}

// Finds the tree of the nodes that were all measured to each other; the others are left out.
void TopologyProbe::FindTree() {
  std::set<uint32_t> left;
  for (uint32_t n = 0; n < names_.size(); ++n) left.insert(n);
  const auto measured = [this](uint32_t a, uint32_t b) {
    return results_.IsMeasured({std::min(a, b), std::max(a, b)});
  };
  while (true) {
    uint32_t worst = 0;
    size_t most = 0;
    for (const uint32_t a : left) {
      const auto missing = static_cast<size_t>(
          std::count_if(left.begin(), left.end(), [&](uint32_t b) { return a != b && !measured(a, b); }));
      if (missing > most) most = missing, worst = a;
    }
    if (most == 0) break;
    left.erase(worst);
    notes_.push_back(
        absl::StrCat("node ", names_[worst], " is left out: not measured to all others (pairs missing=", most, ")"));
  }
  if (left.size() < 2) {
    for (const auto& [pair, result] : results_.all()) {
      if (!result.status.ok()) return Fail(result.status);
    }
    return Fail(absl::DeadlineExceededError("probe: the time was over before a tree could be found"));
  }
  std::vector<uint32_t> order(left.begin(), left.end());
  std::vector<std::string> names;
  std::map<uint32_t, uint32_t> place;
  for (const uint32_t node : order) {
    place[node] = static_cast<uint32_t>(names.size());
    names.push_back(names_[node]);
  }
  results_.Renumber([&](const NodePair& pair) -> std::optional<NodePair> {
    if (place.count(pair.a) == 0 || place.count(pair.b) == 0) return std::nullopt;
    return NodePair{place[pair.a], place[pair.b]};
  });
  names_ = std::move(names);
  auto found = measure::FindTree(names_, results_.Measurements());
  if (!found.ok()) return Fail(found.status());
  tree_ = *std::move(found);
  if (rest_.empty() || out_of_time_) return MeasureLinks();
  phase_ = Phase::kRest;
  std::vector<NodePair> pairs;
  for (const uint32_t landmark : measure::Landmarks(*tree_)) {
    for (uint32_t i = 0; i < rest_.size(); ++i) pairs.push_back({i, landmark});
  }
  // results_ now has pairs of rest_, so the results so far are kept apart.
  kept_ = results_.Take();
  Queue(std::move(pairs));
}

void TopologyProbe::AttachRest() {
  const std::vector<PairMeasurement> measurements = results_.Measurements();
  std::set<uint32_t> seen;
  for (const PairMeasurement& measurement : measurements) seen.insert(measurement.pair.a);
  auto attached = measure::AttachNodes(*tree_, rest_, measurements);
  if (!attached.ok()) return Fail(attached.status());
  for (uint32_t i = 0; i < rest_.size(); ++i) {
    if (seen.count(i) == 0)
      notes_.push_back(absl::StrCat("node ", rest_[i], " is left out: not measured to any other"));
  }
  // The pairs are renumbered by the indices of their nodes in the larger tree.
  results_.Renumber([&](const NodePair& pair) -> std::optional<NodePair> {
    const auto node = attached->FindNode(rest_[pair.a]);
    if (!node.has_value()) return std::nullopt;
    return NodePair{std::min(*node, pair.b), std::max(*node, pair.b)};
  });
  kept_.Merge(std::move(results_));
  results_ = kept_.Take();
  tree_ = *std::move(attached);
  names_.clear();
  for (const topology::Node& node : tree_->nodes()) names_.push_back(node.name);
  MeasureLinks();
}

void TopologyProbe::Fail(const absl::Status& status) {
  reported_ = true;
  done_(status);
}

void TopologyProbe::Report() {
  const std::vector<PairMeasurement> measurements = results_.Measurements();
  std::vector<ProbedPair> pairs;
  absl::Status failure = absl::DeadlineExceededError("probe: the time was over before anything was measured");
  for (const auto& [pair, result] : results_.all()) {
    ProbedPair row{.a = names_[pair.a], .b = names_[pair.b]};
    if (result.latency.has_value()) {
      row.measured = true;
      row.measurement = results_.MeasurementOf(pair, result);
    } else {
      row.why = std::string(result.status.message());
      failure = result.status;
    }
    row.measurement.pair = pair;
    pairs.push_back(std::move(row));
  }
  if (measurements.empty()) return Fail(failure);
  absl::StatusOr<measure::TreeFit> fit = measure::FitTree(*tree_, measurements);
  if (!fit.ok()) return Fail(fit.status());
  absl::StatusOr<topology::Topology> fitted = measure::ApplyFit(*tree_, *fit);
  if (!fitted.ok()) return Fail(fitted.status());
  std::vector<ProbedNode> probed;
  std::vector<topology::Node> nodes = fitted->nodes();
  if (!options_.tree.has_value()) {
    for (const topology::Node& about : options_.about) {
      const auto node = fitted->FindNode(about.name);
      if (!node.has_value()) continue;
      nodes[*node].cores = about.cores;
      nodes[*node].host = about.host;
    }
  }
  for (topology::Node& node : nodes) {
    const auto send = send_ns_.find(node.name);
    ProbedNode row{.name = node.name, .measured = send != send_ns_.end()};
    if (row.measured) {
      // The overheads are at least 1, since a receive overhead of 0 means that it equals the send overhead.
      node.overhead_ns = std::max<int64_t>(1, measure::Median(send->second));
      node.receive_overhead_ns = std::max<int64_t>(1, measure::Median(receive_ns_[node.name]));
    }
    row.overhead_ns = node.overhead_ns;
    row.receive_overhead_ns = node.receive_overhead_ns == 0 ? node.overhead_ns : node.receive_overhead_ns;
    probed.push_back(std::move(row));
  }
  auto topology = topology::Topology::Create(fitted->switches(), std::move(nodes),
                                             options_.tree.has_value() ? tree_->costs() : options_.costs);
  if (!topology.ok()) return Fail(topology.status());
  for (ProbedPair& row : pairs) {
    row.fitted_latency_ns = topology->PathBetween(row.measurement.pair.a, row.measurement.pair.b).latency_ns;
  }
  reported_ = true;
  done_(ProbeReport{.topology = *std::move(topology),
                    .fit = *std::move(fit),
                    .nodes = std::move(probed),
                    .pairs = std::move(pairs),
                    .notes = std::move(notes_)});
}

}  // namespace copse::planner
