// SPDX-License-Identifier: Apache-2.0
//
// Simulates a network in virtual time: nodes, links with delay and bandwidth, and their faults.
#ifndef COPSE_SIM_VIRTUAL_NETWORK_H_
#define COPSE_SIM_VIRTUAL_NETWORK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/ids.h"
#include "base/prng.h"
#include "offload_emu/transport.h"
#include "sim/simulator.h"

namespace copse::sim {

// A NodeNumber is the index of a node in its VirtualNetwork, and its ActorId in the simulator. It is no NodeIndex of a
// team.
using NodeNumber = uint32_t;

// LinkProperties describe one direction of a link. A node spends `send_overhead` and the time of the frame's bytes on
// each send, one after the other over all its links; the frame arrives `latency` (and up to `jitter_max`) later, in
// order; the receiver spends `receive_overhead` on each frame, one after the other.
struct LinkProperties {
  absl::Duration latency = absl::Microseconds(20);
  absl::Duration send_overhead = absl::Microseconds(1);
  absl::Duration receive_overhead = absl::Microseconds(1);
  double bytes_per_second = 0;  // 0: no limit
  absl::Duration jitter_max = absl::ZeroDuration();
  // Faults per frame: duplicated (the copy comes up to reorder_delay_max later); delayed by up to reorder_delay_max, so
  // that later frames may overtake it.
  double duplicate_probability = 0;
  double reorder_probability = 0;
  absl::Duration reorder_delay_max = absl::Microseconds(100);
};

struct VirtualNetworkOptions {
  uint64_t seed = 1;
  LinkProperties link;                                 // properties of each pair without SetLink
  absl::Duration down_delay = absl::Milliseconds(5);   // from a crash to OnPeerDown at its peers
  absl::Duration wake_latency = absl::ZeroDuration();  // from a frame's arrival to on_ready
  uint32_t frames_per_peer_max = 64;  // frames sent and not yet taken by Progress; more: RESOURCE_EXHAUSTED
};

struct VirtualNetworkStats {
  uint64_t frames_sent = 0, frames_delivered = 0, frames_lost = 0, frames_duplicated = 0, frames_reordered = 0;
  uint64_t bytes_sent = 0;
};

// A VirtualNetwork carries frames between its nodes' transports. `*simulator` must outlive it. Nodes are never removed.
// A number that is no node's ends the process.
//
//   VirtualNetwork network(&simulator, {.seed = seed});
//   NodeNumber a = network.AddNode("a", Incarnation(1), [&] { engine_a.Progress(1 << 20); });
//   Engine engine_a(network.transport(a), ...);
//   network.transport(a)->Connect({Incarnation(2), network.transport(b)->LocalAddress()});
//
// on_ready runs as an event of the node (actor = its number) when a frame has arrived, a peer's loss has to be
// reported, or a Send that was refused would find room. It is expected to call the engine's Progress until that returns
// false. The node schedules its own timers with the simulator, and checks running() in them.
class VirtualNetwork {
 public:
  VirtualNetwork(Simulator* simulator, VirtualNetworkOptions options);
  ~VirtualNetwork();

  NodeNumber AddNode(std::string name, Incarnation incarnation, std::function<void()> on_ready);
  // Returns the same object for all incarnations of the node.
  emu::Transport* transport(NodeNumber node);
  const std::string& name(NodeNumber node) const;
  Incarnation incarnation(NodeNumber node) const;

  // Sets the properties of both directions, or of one, for frames that are sent from now on.
  void SetLink(NodeNumber a, NodeNumber b, const LinkProperties& properties);
  void SetLinkOneWay(NodeNumber from, NodeNumber to, const LinkProperties& properties);

  // Cut holds frames back, those in flight included, as TCP does while a network is interrupted; Heal lets
  // them arrive.
  void Cut(NodeNumber a, NodeNumber b);
  void Heal(NodeNumber a, NodeNumber b);
  bool IsCut(NodeNumber a, NodeNumber b) const;

  // Kills the node's process: frames to it, and those that it has not handled, are lost; frames from it are lost unless
  // a later one has arrived already. Its peers get OnPeerDown after down_delay, or after Heal if the link is cut.
  // on_ready is not called any more. No-op if the node is down.
  void Crash(NodeNumber node);
  // Starts the node again, without connections; crashes it first if it is alive.
  void Restart(NodeNumber node, Incarnation incarnation);
  // Stops the node like SIGSTOP: on_ready is not called until Resume; frames wait. Its peers are not notified.
  void Pause(NodeNumber node);
  void Resume(NodeNumber node);
  bool alive(NodeNumber node) const;
  bool running(NodeNumber node) const;  // alive and not paused: its timers may fire

  const VirtualNetworkStats& stats() const { return stats_; }

 private:
  class SimTransport;
  struct Endpoint;
  struct Frame;
  struct Link;
  struct Node;

  Node& At(NodeNumber node) const;
  Link& LinkOf(NodeNumber from, NodeNumber to);
  Endpoint* EndpointOf(const Frame& frame);
  absl::Status Send(NodeNumber from, Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body);
  void Arrive(Frame frame);   // handles a frame at the receiver's end of the link
  void Deliver(Frame frame);  // puts a frame into the receiver's inbox
  void Consumed(const Frame& frame);
  void HealOneWay(NodeNumber from, NodeNumber to);
  void ReportDownLater(NodeNumber at, Incarnation peer);
  void Wake(NodeNumber node);

  Simulator* const simulator_;
  VirtualNetworkOptions options_;
  Prng prng_;
  VirtualNetworkStats stats_;
  uint64_t next_connection_ = 1;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::pair<NodeNumber, NodeNumber>, std::unique_ptr<Link>> links_;  // links that were set or used
};

}  // namespace copse::sim

#endif  // COPSE_SIM_VIRTUAL_NETWORK_H_
