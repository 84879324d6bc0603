// SPDX-License-Identifier: Apache-2.0
//
// Carries packets between the daemons of a call in the cost model.
#ifndef COPSE_PLANNER_PRICING_COST_NETWORK_H_
#define COPSE_PLANNER_PRICING_COST_NETWORK_H_

#include <cstdint>
#include <vector>

#include "planner/pricing/cost_actors.h"
#include "planner/pricing/cost_trace.h"
#include "planner/pricing/team_costs.h"
#include "sim/links.h"

namespace copse::planner {

// A CostMessage is the data that one SendTo of a segment's sequence sends to another node.
struct CostMessage {
  uint32_t to, segment;
  uint16_t phase;
  uint64_t bytes;
};

// A CostNetwork passes packets over the links of a team. A packet occupies each link on its way for the time that its
// bytes take there; at the receiver it becomes an item of the daemon. Thread-compatible.
class CostNetwork {
 public:
  // A Packet has the messages from `messages_begin` to `messages_end`, all of the same sender and receiver.
  struct Packet {
    uint32_t from, to, sender_span;
    uint64_t bytes;
    uint32_t messages_begin, messages_end;
    uint32_t hops_begin, hops_end;  // in hops_
    int64_t tail_ns;                // the tail's delay after the head at the receiver
  };

  // The arguments must outlive this object.
  CostNetwork(const TeamCosts* costs, CostTrace* trace, CostActors* actors)
      : costs_(*costs), trace_(*trace), actors_(*actors), links_(costs->direction_count()) {}

  // Sends a message as a packet of its own. The sender's daemon, which is running, works for it.
  void Send(uint32_t node, const CostMessage& message);
  // Does so for `*messages`, in one packet or more to each receiver, in the order in which the receivers are first
  // named, and clears it.
  void SendFrames(uint32_t node, std::vector<CostMessage>* messages);
  // Sends credit to the peer, for which there is an event of kind kCredit at its time.
  void SendCredit(uint32_t node, uint32_t peer);
  // Handles an event of the kinds kHop and kArrived, and gives arrived packets to the daemons.
  void OnEvent(int64_t time_ns, const CostEvent& event);

  // References are valid until the next Send.
  const Packet& packet(uint32_t index) const { return packets_[index]; }
  const CostMessage& message(uint32_t index) const { return messages_[index]; }

 private:
  // Sends the messages from `begin` on as one packet.
  void SendFrom(uint32_t node, uint32_t begin);
  // Handles the arrival of the packet's head at hops_[place].
  void Hop(int64_t time_ns, uint32_t packet, uint32_t place);

  const TeamCosts& costs_;
  CostTrace& trace_;
  CostActors& actors_;
  sim::Links links_;
  std::vector<Packet> packets_;
  std::vector<CostMessage> messages_;
  std::vector<sim::Hop> hops_;
};

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_NETWORK_H_
