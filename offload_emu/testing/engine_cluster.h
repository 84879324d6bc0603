// SPDX-License-Identifier: Apache-2.0
//
// Engines on a virtual network, with recording sinks: the fixture of the engine's tests.
#ifndef COPSE_OFFLOAD_EMU_TESTING_ENGINE_CLUSTER_H_
#define COPSE_OFFLOAD_EMU_TESTING_ENGINE_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/ids.h"
#include "offload_emu/engine.h"
#include "offload_emu/testing/recording_sinks.h"
#include "sim/simulator.h"
#include "sim/virtual_network.h"

namespace copse::emu {

// One engine with one port.
struct EngineNode {
  sim::NodeNumber number = 0;
  std::unique_ptr<Engine> engine;
  RecordingControlSink control;
  RecordingPortSink sink;
  PortId port;

  void Run(uint64_t budget_bytes = 1 << 20) {
    while (engine->Progress(budget_bytes)) {
    }
    engine->CheckInvariants();
  }
};

// `count` engines with incarnations 100, 101, ..., each with a port of the same options.
class EngineCluster {
 public:
  EngineCluster(uint32_t count, const PortOptions& options, sim::VirtualNetworkOptions network_options = {},
                EngineOptions engine_options = {})
      : network_(&simulator_, std::move(network_options)) {
    for (uint32_t i = 0; i < count; ++i) {
      nodes_.push_back(std::make_unique<EngineNode>());
      EngineNode* node = nodes_.back().get();
      node->number = network_.AddNode(absl::StrCat("n", i), Incarnation(100 + i), [node] { node->Run(); });
      engine_options.incarnation = Incarnation(100 + i);
      node->engine = std::make_unique<Engine>(network_.transport(node->number), &node->control, engine_options);
      auto port = node->engine->OpenPort(options, &node->sink);
      CHECK(port.ok());
      node->port = *port;
    }
  }

  // Links two nodes' ports by an edge, connected and labeled; returns its indices at a and at b.
  std::pair<uint32_t, uint32_t> Link(uint32_t a, uint32_t b) {
    const Engine::NewEdge at_a = Edge(a, b);
    const Engine::NewEdge at_b = Edge(b, a);
    CHECK(node(a).engine->SetRemoteLabel(node(a).port, at_a.edge, at_b.label).ok());
    CHECK(node(b).engine->SetRemoteLabel(node(b).port, at_b.edge, at_a.label).ok());
    return {at_a.edge, at_b.edge};
  }
  // Adds an edge that is connected, but not labeled.
  Engine::NewEdge Edge(uint32_t at, uint32_t to) {
    CHECK(network_.transport(at)->Connect({Incarnation(100 + to), network_.transport(to)->LocalAddress()}).ok());
    auto edge = node(at).engine->AddEdge(node(at).port, Incarnation(100 + to));
    CHECK(edge.ok());
    return *edge;
  }

  EngineNode& node(uint32_t index) { return *nodes_[index]; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  sim::Simulator& simulator() { return simulator_; }
  sim::VirtualNetwork& network() { return network_; }

  // Runs each engine's loop once, then all events that follow.
  void Run() {
    Kick();
    CHECK(simulator_.RunUntilIdle());
  }
  void Kick() {
    for (auto& node : nodes_) {
      if (network_.running(node->number)) node->Run();
    }
  }

 private:
  sim::Simulator simulator_;
  sim::VirtualNetwork network_;
  std::vector<std::unique_ptr<EngineNode>> nodes_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TESTING_ENGINE_CLUSTER_H_
