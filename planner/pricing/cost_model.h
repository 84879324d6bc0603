// SPDX-License-Identifier: Apache-2.0
//
// The one cost model: what a call of a plan takes, found by running the same primitive sequences that the daemons run.
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
  bool timeline = false;      // with critical_path only
  // When each rank posts, by rank, at least 0: ranks that left a call one after another enter the next one so, and
  // daemons were at work until 0. Completions are counted from 0, too. Empty: all post at 0, and daemons sleep.
  std::vector<int64_t> post_ns;
  // Of an irregular call; outlives the question.
  const schedule::BlockCounts* counts = nullptr;
};

// Predicts one call in which all ranks post at time 0, or as the options say.
//
// Model:   every node runs its expanded sequence in order, once a segment. Its daemon is one thread; it takes packets
//          and ranks in the order in which they come, and goes on with a sequence as soon as its Wait is over.
//          - A rank is busy for client_hop to post, and again to take up its result.
//          - Whoever was idle, daemon or rank, pays wake before it does anything. Not after at most spin, during which
//            it looks for work by itself, unless others wanted its host's cores meanwhile: then it sleeps. Who had to
//            wait for a core pays takeover instead.
//          - A daemon pays arm for every rank it takes; the first rank starts the call: arm for every primitive of
//            every segment.
//          - SendTo: send overhead and send_ps_per_byte for every byte. Receiving: receive overhead and
//            receive_ps_per_byte, also before the call has started here. Reduce: alu_ps_per_byte for every byte of
//            all operands but the first; Copy and Deliver: copy_ps_per_byte.
//          - A packet's head needs the links' latencies L; each link carries one packet at a time, in the order of
//            their heads, for StreamNs at its bandwidth; the tail follows by StreamNs at the path's least bandwidth:
//            without contention a packet of m bytes is there L + (m-1)/b after SendTo (MGO, section 3.1).
//          - Collectives of blocks start when all ranks of the node have posted. Their segments are in chunks,
//            kTeamWindow of which are under way at a node at once: the next is armed when the first ends, and nothing
//            is sent to a node for a chunk that does not fit into its window: it tells, by a message without bytes,
//            when it does.
//            What a node has for another when nothing is ready any more leaves in one packet, as far as a frame holds
//            it; ranks are told then, too.
//            A copy list costs copy_ps_per_byte for its bytes, and kCopyRunNs for each of its runs when it is armed.
//          - On a host with c cores at most c of its daemons and ranks run at once; they get a core in the order in
//            which they became ready and keep it until they have nothing to do.
// Input:   a verified plan; shape.node_count == costs.node_count(). Units: ns and bytes.
// Output:  deterministic, to the nanosecond.
// Errors:  INVALID_ARGUMENT if shape, plan, costs and options do not fit each other, or as schedule::Expand;
//          OUT_OF_RANGE beyond kPredictionNsMax; FAILED_PRECONDITION if the plan deadlocks or a packet is not awaited
//          (the verifier refuses such).
// Cost:    O(s log s) for s primitives times segments, and O(depth) a packet and link.
// Source:  CN104360936A (papers: barrier model), whose formulas are lost: the recurrence is ours. Differs: data,
//          segments, ranks that share a node, links that are busy, and hosts that run out of cores.
absl::StatusOr<Prediction> Price(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
                                 const CallArguments& arguments, const PriceOptions& options = {});

}  // namespace copse::planner

#endif  // COPSE_PLANNER_PRICING_COST_MODEL_H_
