// SPDX-License-Identifier: Apache-2.0
#include "sim/virtual_network.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "offload_emu/packet.h"

namespace copse::sim {
namespace {

uint64_t HashBytes(const std::vector<uint8_t>& bytes) {
  uint64_t hash = bytes.size();
  size_t i = 0;
  for (; i + 8 <= bytes.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + i, 8);
    hash = Mix64(hash ^ word) + i;
  }
  for (; i < bytes.size(); ++i) hash = Mix64(hash ^ bytes[i]);
  return hash;
}

}  // namespace

// An Endpoint is one side's connection to a peer. Frames carry `connection`, so that those of a dropped connection are
// lost.
struct VirtualNetwork::Endpoint {
  NodeNumber to = 0;
  uint64_t connection = 0;
  uint64_t ordinal = 0;  // counts this side's connections to this peer; equal ones of both sides belong together
  uint32_t outstanding = 0;
  bool refused_one = false;  // a Send returned RESOURCE_EXHAUSTED; the sender is woken when there is room
  bool down = false;
};

struct VirtualNetwork::Frame {
  NodeNumber from = 0;
  NodeNumber to = 0;
  Incarnation source;
  Incarnation destination;
  uint64_t connection = 0;
  uint64_t number = 0;  // within its link
  bool copy = false;    // duplicated by a fault; not counted in `outstanding`
  std::vector<uint8_t> bytes;
};

struct VirtualNetwork::Link {
  LinkProperties properties;
  bool cut = false;
  absl::Time last_arrival = absl::InfinitePast();
  uint64_t frames = 0;
  uint64_t delivered = 0;  // highest number of a delivered frame
  uint64_t delivered_connection = 0;
  std::vector<Frame> held;  // frames that a cut holds back, in order
};

struct VirtualNetwork::Node {
  std::string name;
  Incarnation incarnation;
  bool alive = true;
  bool paused = false;
  bool wake_scheduled = false;
  absl::Time send_free = absl::UnixEpoch();
  absl::Time receive_free = absl::UnixEpoch();
  std::function<void()> on_ready;
  std::unique_ptr<SimTransport> transport;
  std::map<Incarnation, Endpoint> endpoints;
  std::map<std::pair<Incarnation, Incarnation>, uint64_t> connected;  // number of connections by (from, to)
  std::vector<Frame> inbox;
  std::vector<std::pair<Incarnation, absl::Status>> lost_peers;
};

class VirtualNetwork::SimTransport final : public emu::Transport {
 public:
  SimTransport(VirtualNetwork* network, NodeNumber node) : network_(network), node_(node) {}

  std::string LocalAddress() const override { return absl::StrCat(node_); }

  absl::Status Connect(const emu::PeerAddress& peer) override {
    NodeNumber to = 0;
    if (!absl::SimpleAtoi(peer.worker_address, &to) || to >= network_->nodes_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("worker address \"", peer.worker_address, "\" is of no node"));
    }
    Node& self = network_->At(node_);
    const auto [it, is_new] = self.endpoints.try_emplace(peer.incarnation);
    Endpoint& endpoint = it->second;
    if (!is_new && !endpoint.down) return absl::OkStatus();
    endpoint = Endpoint{.to = to,
                        .connection = network_->next_connection_++,
                        .ordinal = ++self.connected[{self.incarnation, peer.incarnation}]};
    const Node& other = network_->At(to);
    const bool refused = !other.alive || other.incarnation != peer.incarnation;
    if (refused && !network_->IsCut(node_, to)) network_->ReportDownLater(node_, peer.incarnation);
    return absl::OkStatus();
  }

  // The other side's half of the connection is reset with this one, as in TCP.
  void Disconnect(Incarnation peer) override {
    Node& self = network_->At(node_);
    const auto it = self.endpoints.find(peer);
    if (it == self.endpoints.end()) return;
    const Endpoint gone = it->second;
    self.endpoints.erase(it);
    const Node& other = network_->At(gone.to);
    if (!other.alive || other.incarnation != peer || network_->IsCut(node_, gone.to)) return;
    const auto back = other.endpoints.find(self.incarnation);
    if (back == other.endpoints.end() || back->second.down || back->second.ordinal != gone.ordinal) return;
    network_->ReportDownLater(gone.to, self.incarnation);
  }

  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) override {
    return network_->Send(node_, peer, head, body);
  }

  bool Progress(emu::TransportSink* sink) override {
    Node& self = network_->At(node_);
    if (!self.alive) return false;
    const std::vector<Frame> frames = std::exchange(self.inbox, {});
    const std::vector<std::pair<Incarnation, absl::Status>> lost = std::exchange(self.lost_peers, {});
    for (const Frame& frame : frames) {
      network_->Consumed(frame);
      if (!sink->TakeFrame(frame.bytes)) sink->OnFrame(frame.bytes);
    }
    for (const auto& [peer, why] : lost) sink->OnPeerDown(peer, why);
    return !frames.empty() || !lost.empty();
  }

 private:
  VirtualNetwork* const network_;
  const NodeNumber node_;
};

VirtualNetwork::VirtualNetwork(Simulator* simulator, VirtualNetworkOptions options)
    : simulator_(simulator), options_(std::move(options)), prng_(options_.seed) {}

VirtualNetwork::~VirtualNetwork() = default;

VirtualNetwork::Node& VirtualNetwork::At(NodeNumber node) const {
  CHECK_LT(node, nodes_.size());
  return *nodes_[node];
}

NodeNumber VirtualNetwork::AddNode(std::string name, Incarnation incarnation, std::function<void()> on_ready) {
  const NodeNumber number = static_cast<NodeNumber>(nodes_.size());
  auto node = std::make_unique<Node>();
  node->name = std::move(name);
  node->incarnation = incarnation;
  node->on_ready = std::move(on_ready);
  node->transport = std::make_unique<SimTransport>(this, number);
  nodes_.push_back(std::move(node));
  return number;
}

emu::Transport* VirtualNetwork::transport(NodeNumber node) { return At(node).transport.get(); }
const std::string& VirtualNetwork::name(NodeNumber node) const { return At(node).name; }
Incarnation VirtualNetwork::incarnation(NodeNumber node) const { return At(node).incarnation; }
bool VirtualNetwork::alive(NodeNumber node) const { return At(node).alive; }
bool VirtualNetwork::running(NodeNumber node) const { return At(node).alive && !At(node).paused; }

VirtualNetwork::Link& VirtualNetwork::LinkOf(NodeNumber from, NodeNumber to) {
  std::unique_ptr<Link>& link = links_[{from, to}];
  if (link == nullptr) {
    link = std::make_unique<Link>();
    link->properties = options_.link;
  }
  return *link;
}

void VirtualNetwork::SetLink(NodeNumber a, NodeNumber b, const LinkProperties& properties) {
  SetLinkOneWay(a, b, properties);
  SetLinkOneWay(b, a, properties);
}

void VirtualNetwork::SetLinkOneWay(NodeNumber from, NodeNumber to, const LinkProperties& properties) {
  LinkOf(from, to).properties = properties;
}

VirtualNetwork::Endpoint* VirtualNetwork::EndpointOf(const Frame& frame) {
  Node& sender = At(frame.from);
  if (!sender.alive || sender.incarnation != frame.source) return nullptr;
  const auto it = sender.endpoints.find(frame.destination);
  if (it == sender.endpoints.end() || it->second.connection != frame.connection) return nullptr;
  return &it->second;
}

absl::Status VirtualNetwork::Send(NodeNumber from, Incarnation peer, absl::Span<const uint8_t> head,
                                  absl::Span<const uint8_t> body) {
  Node& sender = At(from);
  const auto it = sender.endpoints.find(peer);
  if (!sender.alive || it == sender.endpoints.end()) {
    return absl::UnavailableError(absl::StrCat("no connection to incarnation ", peer.value()));
  }
  Endpoint& endpoint = it->second;
  if (endpoint.down) return absl::UnavailableError(absl::StrCat("connection to ", At(endpoint.to).name, " is lost"));
  CHECK_LE(head.size() + body.size(), emu::kFrameBytesMax);
  if (endpoint.outstanding >= options_.frames_per_peer_max) {
    endpoint.refused_one = true;
    return absl::ResourceExhaustedError(absl::StrCat(endpoint.outstanding, " frames to ", At(endpoint.to).name,
                                                     " (limit ", options_.frames_per_peer_max, ")"));
  }
  Frame frame{.from = from,
              .to = endpoint.to,
              .source = sender.incarnation,
              .destination = peer,
              .connection = endpoint.connection,
              .copy = false,
              .bytes = {head.begin(), head.end()}};
  frame.bytes.insert(frame.bytes.end(), body.begin(), body.end());
  ++endpoint.outstanding;
  ++stats_.frames_sent;
  stats_.bytes_sent += frame.bytes.size();

  Link& link = LinkOf(from, endpoint.to);
  frame.number = ++link.frames;
  const LinkProperties& properties = link.properties;
  absl::Duration spent = properties.send_overhead;
  if (properties.bytes_per_second > 0) {
    spent += absl::Seconds(static_cast<double>(frame.bytes.size()) / properties.bytes_per_second);
  }
  sender.send_free = std::max(sender.send_free, simulator_->Now()) + spent;
  absl::Time arrival = sender.send_free + properties.latency;
  if (properties.jitter_max > absl::ZeroDuration()) arrival += prng_.Unit() * properties.jitter_max;
  if (properties.duplicate_probability > 0 && prng_.Chance(properties.duplicate_probability)) {
    ++stats_.frames_duplicated;
    Frame copy = frame;
    copy.copy = true;
    simulator_->At(arrival + prng_.Unit() * properties.reorder_delay_max, frame.to,
                   [this, copy = std::move(copy)]() mutable { Arrive(std::move(copy)); });
  }
  if (properties.reorder_probability > 0 && prng_.Chance(properties.reorder_probability)) {
    ++stats_.frames_reordered;
    arrival += prng_.Unit() * properties.reorder_delay_max;
  } else {
    arrival = std::max(arrival, link.last_arrival);
    link.last_arrival = arrival;
  }
  const NodeNumber to = frame.to;
  simulator_->At(arrival, to, [this, frame = std::move(frame)]() mutable { Arrive(std::move(frame)); });
  return absl::OkStatus();
}

void VirtualNetwork::Arrive(Frame frame) {
  Link& link = LinkOf(frame.from, frame.to);
  if (link.cut) {
    link.held.push_back(std::move(frame));
    return;
  }
  Node& receiver = At(frame.to);
  receiver.receive_free = std::max(receiver.receive_free, simulator_->Now()) + link.properties.receive_overhead;
  simulator_->At(receiver.receive_free, frame.to,
                 [this, frame = std::move(frame)]() mutable { Deliver(std::move(frame)); });
}

void VirtualNetwork::Deliver(Frame frame) {
  Node& receiver = At(frame.to);
  Link& link = LinkOf(frame.from, frame.to);
  // Frames sent before an arrived frame arrive, whatever happens to the connection: see TransportSink.
  const bool overtaken = link.delivered_connection == frame.connection && frame.number < link.delivered;
  if (!receiver.alive || receiver.incarnation != frame.destination || (EndpointOf(frame) == nullptr && !overtaken)) {
    ++stats_.frames_lost;
    return;
  }
  link.delivered = std::max(link.delivered, frame.number);
  link.delivered_connection = frame.connection;
  ++stats_.frames_delivered;
  simulator_->Trace(HashBytes(frame.bytes));
  const NodeNumber to = frame.to;
  receiver.inbox.push_back(std::move(frame));
  Wake(to);
}

void VirtualNetwork::Consumed(const Frame& frame) {
  if (frame.copy) return;
  Endpoint* endpoint = EndpointOf(frame);
  if (endpoint == nullptr) return;
  --endpoint->outstanding;
  if (!endpoint->refused_one) return;
  endpoint->refused_one = false;
  Wake(frame.from);
}

void VirtualNetwork::Wake(NodeNumber node) {
  Node& target = At(node);
  if (!running(node) || target.wake_scheduled) return;
  target.wake_scheduled = true;
  simulator_->Schedule(options_.wake_latency, node, [this, node] {
    Node& target = At(node);
    target.wake_scheduled = false;
    if (running(node) && target.on_ready) target.on_ready();
  });
}

void VirtualNetwork::ReportDownLater(NodeNumber at, Incarnation peer) {
  const uint64_t connection = At(at).endpoints.at(peer).connection;
  const Incarnation observer = At(at).incarnation;
  simulator_->Schedule(options_.down_delay, at, [this, at, observer, peer, connection] {
    Node& node = At(at);
    if (!node.alive || node.incarnation != observer) return;
    const auto it = node.endpoints.find(peer);
    if (it == node.endpoints.end() || it->second.connection != connection || it->second.down) return;
    it->second.down = true;
    node.lost_peers.emplace_back(
        peer, absl::UnavailableError(absl::StrCat("connection to ", At(it->second.to).name, " was reset")));
    Wake(at);
  });
}

void VirtualNetwork::Cut(NodeNumber a, NodeNumber b) {
  LinkOf(a, b).cut = true;
  LinkOf(b, a).cut = true;
}

void VirtualNetwork::Heal(NodeNumber a, NodeNumber b) {
  HealOneWay(a, b);
  HealOneWay(b, a);
}

void VirtualNetwork::HealOneWay(NodeNumber from, NodeNumber to) {
  Link& link = LinkOf(from, to);
  if (!link.cut) return;
  link.cut = false;
  const absl::Time arrival = simulator_->Now() + link.properties.latency;
  link.last_arrival = std::max(link.last_arrival, arrival);
  for (Frame& frame : link.held) {
    simulator_->At(arrival, to, [this, frame = std::move(frame)]() mutable { Arrive(std::move(frame)); });
  }
  link.held.clear();
  // Losses that happened while the link was cut are reported from now on.
  for (const auto& [peer, endpoint] : At(from).endpoints) {
    const Node& other = At(to);
    const bool dead = !other.alive || other.incarnation != peer;
    if (endpoint.to == to && dead && !endpoint.down) ReportDownLater(from, peer);
  }
}

bool VirtualNetwork::IsCut(NodeNumber a, NodeNumber b) const {
  const auto it = links_.find({a, b});
  return it != links_.end() && it->second->cut;
}

void VirtualNetwork::Crash(NodeNumber node) {
  Node& dead = At(node);
  if (!dead.alive) return;
  dead.alive = false;
  stats_.frames_lost += dead.inbox.size();
  dead.inbox.clear();
  dead.lost_peers.clear();
  dead.endpoints.clear();
  for (NodeNumber other = 0; other < nodes_.size(); ++other) {
    const auto it = nodes_[other]->endpoints.find(dead.incarnation);
    if (it == nodes_[other]->endpoints.end() || it->second.down || IsCut(other, node)) continue;
    ReportDownLater(other, dead.incarnation);
  }
}

void VirtualNetwork::Restart(NodeNumber node, Incarnation incarnation) {
  Crash(node);
  Node& fresh = At(node);
  fresh.incarnation = incarnation;
  fresh.alive = true;
  fresh.paused = false;
  fresh.send_free = fresh.receive_free = simulator_->Now();
}

void VirtualNetwork::Pause(NodeNumber node) { At(node).paused = true; }

void VirtualNetwork::Resume(NodeNumber node) {
  At(node).paused = false;
  if (!At(node).inbox.empty() || !At(node).lost_peers.empty()) Wake(node);
}

}  // namespace copse::sim
