// SPDX-License-Identifier: Apache-2.0
//
// Defines the cost model, which predicts a plan's call by running the same primitive sequences as the daemons.
#ifndef COPSE_PLANNER_PRICING_COST_MODEL_H_
#define COPSE_PLANNER_PRICING_COST_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "collectives/call_arguments.h"
#include "planner/pricing/prediction.h"
#include "planner/pricing/team_costs.h"
#include "schedule/block_program.h"
#include "schedule/plan.h"

namespace copse::planner {

struct PriceOptions {
  bool critical_path = true;  // needs memory for every step; off while candidates are compared
  bool timeline = false;      // requires critical_path
  // post_ns[r] is the time of rank r's post in ns, at least 0, for ranks that leave one call at different times and
  // enter the next; daemons were busy until 0. Completion times are counted from 0, too. Empty: all post at 0, and
  // daemons sleep.
  std::vector<int64_t> post_ns;
  // It has the block sizes of an irregular call, and must outlive the call of Price.
  const schedule::BlockCounts* counts = nullptr;
};

// Predicts one call in which all ranks post at time 0, or at the times in the options.
//
// Model:   every node runs its expanded sequence in order, once a segment. Its daemon is one thread; it takes packets
//          and ranks in the order of their arrival, and resumes a sequence as soon as its Wait is complete.
//          - A rank is busy for client_hop to post, and again to take up its result.
//          - An actor (a daemon, or a rank that takes up its result) that was idle pays wake first. It pays nothing if
//            it was idle for at most spin, during which it polls for work, unless others needed its host's cores
//            meanwhile: then it sleeps. An actor that had to wait for a core pays takeover instead.
//          - A daemon pays arm for every rank it takes; the first rank starts the call: arm for every primitive of
//            every segment.
//          - SendTo costs send overhead, and send_ps_per_byte for every byte. A packet that arrives costs receive
//            overhead and receive_ps_per_byte, also before the call has started at the node. Reduce costs
//            alu_ps_per_byte for every byte of all operands but the first; Copy and Deliver cost copy_ps_per_byte,
//            except where direct placement saves the copy.
//          - A packet's head needs the links' latencies L; each link carries one packet at a time, in the order of
//            their heads, for StreamNs at its bandwidth; the tail follows by StreamNs at the path's least bandwidth:
//            without contention a packet of m bytes is there L + (m-1)/b after SendTo (MGO, section 3.1).
//          - Collectives of blocks start when all ranks of the node have posted. Their segments are in chunks;
//            a node runs kTeamWindow of them at once: the next is armed when the first ends. A node receives nothing
//            for a chunk beyond its window; it sends credit, a message without bytes, when the window moves.
//            When nothing is ready any more, a node's data for another node leaves in one packet, up to a frame; ranks
//            are notified then, too. A copy list costs copy_ps_per_byte for its bytes, and kCopyRunNs for each of its
//            runs when it is armed.
//          - On a host with c cores at most c of its daemons and ranks run at once; they get a core in the order in
//            which they became ready and keep it until they have nothing to do.
// Input:   a verified plan; shape.node_count == costs.node_count(). Units: ns and bytes.
// Output:  deterministic, to the nanosecond.
// Errors:  INVALID_ARGUMENT if shape, plan, costs and options do not fit each other, and from the plan's expansion;
//          OUT_OF_RANGE beyond kPredictionNsMax; FAILED_PRECONDITION if the plan deadlocks or a packet is not awaited
//          (the verifier refuses such plans).
// Cost:    O(s log s) for s primitives times segments, and O(depth) a packet and link.
// Source:  CN104360936A (papers: barrier model), whose formulas are lost: the recurrence is ours. Differs: data,
//          segments, ranks that share a node, busy links, and hosts with fewer cores than actors.
absl::StatusOr<Prediction> Price(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
                                 const CallArguments& arguments, const PriceOptions& options = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_MODEL_H_
