// SPDX-License-Identifier: Apache-2.0
//
// The emulated network as a pure state machine: packets go in with a time, and come out when they are due, or are
// dropped.
#ifndef COPSE_TESTBED_FABRIC_SWITCH_CORE_H_
#define COPSE_TESTBED_FABRIC_SWITCH_CORE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "testbed/fabric/due_times.h"
#include "testbed/fabric/link_settings.h"

namespace copse::fabric {

inline constexpr uint32_t kNone = 0xffffffff;
// The destination that means all nodes except the sender. Switches multiply the packet, so it crosses each link once.
inline constexpr uint32_t kEveryone = 0xfffffffe;

// A switch, or a node at the tree's edge, and its link upwards.
struct Vertex {
  uint32_t parent = kNone;  // a switch, by index; kNone at the root, which has no link
  LinkSettings link;
};

// The lengths of a packet that take time on a wire. A super-packet, which the kernel cuts later, is a train of
// packets: all except the last have `first_bytes`. Links send trains whole, but a train's first packet need not await
// its last in a switch.
struct PacketShape {
  uint32_t wire_bytes = 0;  // total, with each packet's overhead on the wire
  uint32_t first_bytes = 0;
  uint32_t last_bytes = 0;
  uint32_t packets = 1;
};
inline PacketShape SinglePacket(uint32_t wire_bytes) { return {wire_bytes, wire_bytes, wire_bytes, 1}; }

enum class Drop { kQueue, kLoss, kCut, kNoRoute };
inline constexpr int kDropCount = 4;

enum class Direction { kUp, kDown };

// Counters of one direction of a link. Packets of a train are counted singly, drops too.
struct LinkCounters {
  uint64_t packets = 0;  // sent packets, lost ones too
  uint64_t bytes = 0;    // sent bytes, as on the wire, lost ones too
  std::array<uint64_t, kDropCount> drops{};
  int64_t queue_bytes = 0;
  int64_t queue_packets = 0;
  int64_t queue_bytes_high = 0;
  int64_t queue_packets_high = 0;
};

// Receives delivered packets. `packet` is the one that Send was given. It must not call the SwitchCore.
class PacketSink {
 public:
  virtual ~PacketSink() = default;
  virtual void Deliver(uint32_t node, uint32_t packet, int64_t due_ns) = 0;
  // The last copy has been delivered or dropped.
  virtual void Release(uint32_t packet) = 0;
};

// A SwitchCore moves packets along the tree path between two nodes. Each link has, in each direction, a FIFO queue with
// tail drop, a sender with a rate, and a wire with a latency, jitter and loss; flows that cross a link share it.
// Every event happens at its own time: events that were due between two calls are processed in order of due time,
// whenever the calls come.
//
// Calls follow (Send | Advance | Set | Cut | Heal)* with times that do not decrease (an earlier one counts as the
// latest so far). Deterministic: equal calls and seed give equal results. Thread-compatible.
class SwitchCore {
 public:
  // `switches`, then nodes: node i is the vertex with index switches + i. Parents are switches, and form one tree.
  // `*sink` must outlive this object.
  SwitchCore(std::vector<Vertex> vertices, uint32_t switch_count, uint64_t seed, PacketSink* sink);

  // Sends a packet from node `from` to node `to` or kEveryone. One to itself or to no node is dropped, at its own
  // link.
  void Send(uint32_t from, uint32_t to, const PacketShape& shape, uint32_t packet, int64_t now_ns);

  // Delivers the packets that are due by now.
  void Advance(int64_t now_ns);

  // Returns a time before which nothing can be delivered, if nothing is sent until then; kNever if nothing is in
  // flight. Advance has to be called then, not necessarily earlier.
  int64_t next_delivery_ns() const { return wakes_.first_due(); }

  // Changes a vertex's link from now on: packets on the wire or being sent keep their time, and a queue that became
  // too long keeps its packets.
  void Set(uint32_t vertex, const LinkSettings& settings, int64_t now_ns);
  // Drops the packets on the link or waiting for it, and later ones until Heal.
  void Cut(uint32_t vertex, int64_t now_ns);
  void Heal(uint32_t vertex, int64_t now_ns);

  uint32_t node_count() const { return static_cast<uint32_t>(vertices_.size()) - switch_count_; }
  uint32_t switch_count() const { return switch_count_; }
  const LinkSettings& settings(uint32_t vertex) const { return vertices_[vertex].link; }
  bool is_cut(uint32_t vertex) const { return cut_[vertex]; }
  bool is_root(uint32_t vertex) const { return vertices_[vertex].parent == kNone; }
  const LinkCounters& counters(uint32_t vertex, Direction direction) const;
  void ClearCounters();

 private:
  struct Packet {
    PacketShape shape;
    uint32_t to;
    uint32_t caller_packet;
    uint32_t copies;  // in flight; 0: free
  };
  // One packet on one link.
  struct Copy {
    int64_t due_ns;   // on the wire: time when the other end acts on it
    int64_t last_ns;  // arrival of its last packet
    uint32_t packet;
  };
  struct Lane {  // one direction of a link
    std::deque<Copy> waiting;
    std::deque<Copy> wire;  // by due time
    int64_t free_ns = 0;    // time when the sender has sent what it began
    int64_t last_arrival_ns = 0;
    int64_t ahead_ns = 0;  // least time from leaving the sender to any delivery
    LinkCounters counters;
  };

  static uint32_t LaneOf(uint32_t vertex, Direction direction) {
    return 2 * vertex + (direction == Direction::kDown ? 1 : 0);
  }
  bool IsNode(uint32_t vertex) const { return vertex >= switch_count_; }
  // Handles the end of one copy of a packet.
  void RemoveCopy(uint32_t packet);
  void DropCopy(uint32_t lane, const Copy& copy, Drop cause);
  void DropAll(uint32_t lane, std::deque<Copy>* copies);

  // Handles a copy that reaches a lane's sender.
  void Enter(uint32_t lane, const Copy& copy, int64_t at_ns);
  void Start(uint32_t lane, Copy copy, int64_t at_ns);
  // Handles a copy that reaches a lane's end, when it is due.
  void Arrive(uint32_t lane, const Copy& copy);
  // Returns the lane from a switch towards a node.
  uint32_t Route(uint32_t switch_vertex, uint32_t node) const;
  void Flood(uint32_t switch_vertex, uint32_t from_lane, const Copy& copy);
  void Schedule(uint32_t lane);
  void UpdateAhead();

  std::vector<Vertex> vertices_;
  const uint32_t switch_count_;
  std::vector<std::vector<uint32_t>> children_;  // by switch
  std::vector<bool> cut_;
  std::vector<Lane> lanes_;
  std::vector<Packet> packets_;
  std::vector<uint32_t> packets_free_;
  DueTimes events_;  // of lanes
  DueTimes wakes_;   // of lanes: the earliest delivery that can follow
  int64_t now_ns_ = 0;
  Prng prng_;
  PacketSink* const sink_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_SWITCH_CORE_H_
