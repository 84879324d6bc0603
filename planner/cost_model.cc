// SPDX-License-Identifier: Apache-2.0
#include "planner/cost_model.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "planner/cost_program.h"
#include "planner/schedule/block_program.h"
#include "planner/schedule/expand.h"

namespace copse::planner {
namespace {

using schedule::Step;

constexpr uint32_t kNone = 0xffffffff;
// How the engine packs what goes to one node: Outbox::kBatchBytesMax (offload_emu/outbox.h), and packet.h.
constexpr uint64_t kFrameBytes = 16 * 1024;
constexpr uint64_t kFrameHeaderBytes = 32;
constexpr uint64_t kRecordBytes = 40;
int64_t PerByteNs(uint64_t bytes, int64_t ps_per_byte) { return static_cast<int64_t>(bytes) * ps_per_byte / 1000; }

// A stretch of time in which somebody was busy, kept to find the critical path.
enum class Doing : uint8_t {
  kPost,
  kPickUp,
  kWake,
  kTakeRank,
  kArm,
  kReceive,
  kReduce,
  kCopy,
  kSend,
  kDeliver,
  kTransfer
};
struct Span {
  int64_t start, end;
  uint32_t actor;  // node, or node_count + rank
  uint32_t peer;
  uint32_t cause;  // the span without whose end this one would have started earlier
  Doing doing;
};

// Runs one call. Actors 0..nodes-1 are the daemons, nodes..nodes+ranks-1 the ranks.
class Simulation {
 public:
  Simulation(const schedule::Plan& plan, const schedule::ShapeIndex& shape, const TeamCosts& costs,
             const schedule::CallArguments& arguments, const PriceOptions& options,
             const schedule::BlockProgram* blocks)
      : plan_(plan),
        shape_(shape),
        costs_(costs),
        parameters_(costs.parameters()),
        arguments_(arguments),
        blocks_(blocks),
        trace_(options.critical_path),
        timeline_(options.timeline),
        post_ns_(options.post_ns),
        nodes_(shape.node_count()) {}

  absl::StatusOr<Prediction> Run();

 private:
  // What a daemon has to do next. Ranks need none of it: they post first and pick up their result second.
  enum class ItemKind : uint8_t { kRank, kPacket, kCredit };
  struct Item {
    int64_t ready;
    uint32_t cause;
    uint32_t peer;   // node, or local index of a rank
    uint32_t which;  // packet
    ItemKind kind;
    uint32_t next = kNone;  // in its actor's queue
  };
  struct Actor {
    uint32_t first_item = kNone, last_item = kNone;  // in items_: a queue
    int64_t idle_since = -1;                         // -1: has never run
    int64_t ready = 0;                               // of ranks
    uint32_t cause = kNone;                          // of ranks
    uint32_t last_span = kNone;
    uint32_t host = 0;
    int64_t runnable_at = 0;  // on a host with limited cores
    bool busy = false;        // running, or in its host's queue
    bool waited = false;      // for a core, before it runs now
    bool posted = false;      // of ranks
  };
  struct Host {
    std::deque<uint32_t> runnable;
    uint32_t cores_free = 0;
    bool limited = false;
    uint32_t last_span = kNone;  // of the actor that gave a core back last
    int64_t wanted_at = -1;      // when somebody last had to wait for a core
  };
  // A result that is there before its rank.
  struct Deferred {
    uint32_t local, segment;
    bool data;
  };
  struct NodeState {
    std::vector<CostProgram> programs;  // one a rotation, or, of blocks, one a segment
    bool started = false;
    std::vector<bool> here;  // local ranks that have arrived
    uint32_t here_count = 0;
    std::vector<Deferred> deferred;
    std::vector<uint32_t> pending;        // what each Wait of each segment still awaits
    std::vector<uint32_t> pending_begin;  // by segment
    std::vector<uint32_t> op;             // [segment]: next primitive
    std::vector<uint32_t> wait;           // [segment]: next Wait
    // Of blocks, whose segments are in chunks of which a window is under way at once.
    uint32_t chunks_started = 0;
    uint32_t chunks_finished = 0;                        // all below
    std::vector<uint32_t> segments_left;                 // by chunk
    std::vector<std::pair<uint32_t, uint32_t>> blocked;  // (peer, segment) that wait for the peer's credit
    std::vector<uint32_t> uncredited;                    // nodes that wait for ours

    const CostProgram& ProgramOf(uint32_t segment) const { return programs[segment % programs.size()]; }
    uint32_t& Pending(uint32_t segment, uint32_t wait_index) { return pending[pending_begin[segment] + wait_index]; }
  };
  // Part of a segment's sequence that goes from one node to another.
  struct Message {
    uint32_t to, segment;
    uint16_t phase;
    uint64_t bytes;
  };
  struct Packet {
    uint32_t from, to, sender_span;
    uint64_t bytes;
    uint32_t messages_begin, messages_end;  // in messages_
    uint32_t links_begin, links_end;        // in links_
    int64_t tail_ns;                        // the tail follows the head by this at the receiver
  };
  enum class EventKind : uint8_t { kDone, kHop, kArrived, kTurn, kCredit };
  struct Event {
    int64_t time;
    uint64_t order;  // of creation
    EventKind kind;
    uint32_t who;    // actor, packet, rank, or (kCredit) node
    uint32_t where;  // kHop: index in links_; kTurn (of a rank): span; kCredit: from whom
    friend bool operator>(const Event& a, const Event& b) {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };
  struct Link {
    int64_t latency_ns, bandwidth;
    uint32_t busy;  // index in link_free_
  };

  absl::Status Prepare();
  void Push(int64_t time, EventKind kind, uint32_t who, uint32_t where = 0);
  uint32_t AddSpan(uint32_t actor, Doing doing, uint32_t peer, int64_t start, int64_t end, uint32_t cause);
  // Adds a span of this actor, after its last one in this run; advances `now_`.
  void Work(uint32_t actor, Doing doing, uint32_t peer, int64_t duration);

  void AddItem(uint32_t node, const Item& item, int64_t time);
  void MakeRunnable(uint32_t actor, int64_t time);
  void GiveCores(uint32_t host, int64_t time);
  void RunActor(uint32_t actor, int64_t time);
  void GetGoing(uint32_t actor, int64_t time);
  void RunRank(uint32_t actor);
  void RunDaemon(uint32_t node, const Item& item);
  void Finish(uint32_t actor, int64_t time);

  void StartCall(uint32_t node);
  void StartChunks(uint32_t node);
  // Segment `segment` has ended here.
  void EndSegment(uint32_t node, uint32_t segment);
  void TakeRank(uint32_t node, uint32_t local);
  void TakePacket(uint32_t node, const Item& item);
  void Count(uint32_t node, uint32_t segment, uint32_t wait);
  void Advance(uint32_t node, uint32_t segment);
  void Deliver(uint32_t node, uint32_t local, uint32_t segment, bool data);
  // False: the peer has no room yet; it will tell.
  bool HasCredit(uint32_t node, uint32_t peer, uint32_t segment);
  // Sends the messages from `begin` on, which all go to the same node, as one packet.
  void Send(uint32_t node, uint32_t begin);
  // What the engine's outboxes and its owner do when nothing is ready any more.
  void Flush(uint32_t node);
  void Hop(int64_t time, uint32_t packet, uint32_t place);
  // Appends the links of the path to links_.
  void FindLinks(uint32_t from, uint32_t to);
  absl::Status PrepareBlocks();
  uint64_t BytesOf(const CostProgram::Op& op, uint32_t segment) const {
    if (op.bytes != CostProgram::kWholeSegment) return op.bytes;
    return blocks_ != nullptr ? 0 : segments_[segment].bytes;
  }

  absl::Status CheckFinished() const;
  PathStep StepOf(const Span& span) const;
  std::vector<PathStep> CriticalPath(uint32_t rank) const;
  std::vector<PathStep> Timeline() const;

  const schedule::Plan& plan_;
  const schedule::ShapeIndex& shape_;
  const TeamCosts& costs_;
  const CostParameters& parameters_;
  const schedule::CallArguments& arguments_;
  const schedule::BlockProgram* const blocks_;  // null: of the common collectives
  const bool trace_;
  const bool timeline_;
  const std::vector<int64_t>& post_ns_;
  const uint32_t nodes_;

  std::vector<schedule::Segment> segments_;  // empty of blocks
  uint32_t segment_count_ = 0;
  std::vector<uint32_t> chunk_of_;     // of blocks, by segment
  bool chunks_may_start_ = false;      // at the node whose turn it is
  std::vector<uint32_t> chunk_begin_;  // first segment of each chunk, and their number
  std::vector<NodeState> states_;
  std::vector<Actor> actors_;
  std::vector<Item> items_;
  std::vector<Host> hosts_;
  std::vector<Packet> packets_;
  std::vector<Message> messages_;
  // Of the node whose turn it is, in a call of blocks: what waits until nothing is ready any more.
  std::vector<Message> outbox_;
  std::vector<uint32_t> credits_;  // nodes
  std::vector<uint32_t> told_;     // ranks
  std::vector<Link> links_;
  std::vector<int64_t> link_free_;  // (node, direction), then (slot of switch, direction)
  std::vector<Span> spans_;
  std::vector<uint32_t> results_left_;  // by rank: segments that it still waits for
  std::vector<int64_t> completion_;
  std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events_;
  uint64_t event_count_ = 0;
  int64_t now_ = 0;            // within a run of an actor
  uint32_t now_span_ = kNone;  // what the next span of the run follows
  absl::Status failure_;
};

absl::Status Simulation::PrepareBlocks() {
  if (blocks_->segment_count() > kBlockSegmentsMax) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan_.id.value(), ": too many segments to price (segments=",
                                                   blocks_->segment_count(), ", limit=", kBlockSegmentsMax, ")"));
  }
  for (uint64_t c = 0; c < blocks_->chunk_count(); ++c) {
    chunk_begin_.push_back(static_cast<uint32_t>(chunk_of_.size()));
    chunk_of_.resize(chunk_of_.size() + blocks_->SegmentsOf(c), static_cast<uint32_t>(c));
  }
  chunk_begin_.push_back(static_cast<uint32_t>(chunk_of_.size()));
  for (uint32_t v = 0; v < nodes_; ++v) {
    NodeState& state = states_[v];
    const auto local_ranks = static_cast<uint32_t>(shape_.RanksOf(NodeIndex(v)).size());
    for (uint64_t c = 0; c < blocks_->chunk_count(); ++c) {
      ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> sequences, blocks_->SequencesOf(c, NodeIndex(v)));
      for (const schedule::NodeSequence& sequence : sequences)
        state.programs.push_back(CompileForCost(sequence, local_ranks));
      state.segments_left.push_back(static_cast<uint32_t>(sequences.size()));
    }
  }
  return absl::OkStatus();
}

absl::Status Simulation::Prepare() {
  states_.resize(nodes_);
  if (blocks_ != nullptr) {
    RETURN_IF_ERROR(PrepareBlocks());
  } else {
    segments_ =
        schedule::SegmentsOf(plan_, arguments_.collective == schedule::Collective::kBarrier ? 0 : arguments_.bytes());
    const schedule::TreeIndex index(plan_);
    for (uint32_t v = 0; v < nodes_; ++v) {
      for (uint32_t rotation = 0; rotation < schedule::RotationsOf(plan_); ++rotation) {
        const schedule::NodeView view = schedule::ViewOf(shape_, plan_, NodeIndex(v), arguments_, rotation);
        ASSIGN_OR_RETURN(const schedule::NodeSequence sequence, schedule::Expand(plan_, index, view, arguments_));
        states_[v].programs.push_back(CompileForCost(sequence, view.local_ranks));
      }
    }
  }
  segment_count_ = static_cast<uint32_t>(blocks_ != nullptr ? chunk_of_.size() : segments_.size());
  for (uint32_t v = 0; v < nodes_; ++v) {
    NodeState& state = states_[v];
    state.here.assign(shape_.RanksOf(NodeIndex(v)).size(), false);
    for (uint32_t s = 0; s < segment_count_; ++s) {
      const std::vector<uint32_t>& counts = state.ProgramOf(s).wait_counts;
      state.pending_begin.push_back(static_cast<uint32_t>(state.pending.size()));
      state.pending.insert(state.pending.end(), counts.begin(), counts.end());
    }
    state.op.assign(segment_count_, 0);
    state.wait.assign(segment_count_, 0);
  }
  actors_.resize(nodes_ + shape_.size());
  for (uint32_t v = 0; v < nodes_; ++v) {
    actors_[v].host = costs_.node(v).host;
    if (!post_ns_.empty()) actors_[v].idle_since = 0;
  }
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    actors_[nodes_ + r].host = costs_.node(shape_.NodeOf(Rank(r)).value()).host;
  }
  hosts_.resize(costs_.host_count());
  for (uint32_t h = 0; h < hosts_.size(); ++h) {
    hosts_[h].cores_free = costs_.CoresOf(h);
    hosts_[h].limited = hosts_[h].cores_free > 0;
  }
  link_free_.assign(2 * (nodes_ + costs_.switch_slot_count()), 0);
  results_left_.assign(shape_.size(), segment_count_);
  completion_.assign(shape_.size(), -1);
  return absl::OkStatus();
}

absl::StatusOr<Prediction> Simulation::Run() {
  RETURN_IF_ERROR(Prepare());
  for (uint32_t r = 0; r < shape_.size(); ++r) {
    if (post_ns_.empty() || post_ns_[r] == 0) {
      MakeRunnable(nodes_ + r, 0);
    } else {
      Push(post_ns_[r], EventKind::kTurn, r, kNone);
    }
  }
  while (!events_.empty() && failure_.ok()) {
    const Event event = events_.top();
    events_.pop();
    switch (event.kind) {
      case EventKind::kDone:
        Finish(event.who, event.time);
        break;
      case EventKind::kHop:
        Hop(event.time, event.who, event.where);
        break;
      case EventKind::kArrived: {
        const Packet& packet = packets_[event.who];
        const uint32_t transfer = trace_ ? AddSpan(packet.from, Doing::kTransfer, packet.to,
                                                   spans_[packet.sender_span].end, event.time, packet.sender_span)
                                         : kNone;
        AddItem(packet.to, {event.time, transfer, packet.from, event.who, ItemKind::kPacket}, event.time);
        break;
      }
      case EventKind::kCredit:
        AddItem(event.who, {event.time, kNone, event.where, 0, ItemKind::kCredit}, event.time);
        break;
      case EventKind::kTurn: {
        Actor& rank = actors_[nodes_ + event.who];
        rank.ready = event.time;
        rank.cause = event.where;
        MakeRunnable(nodes_ + event.who, event.time);
        break;
      }
    }
  }
  RETURN_IF_ERROR(failure_);
  RETURN_IF_ERROR(CheckFinished());
  Prediction prediction;
  prediction.completion_ns = completion_;
  const auto slowest = std::max_element(completion_.begin(), completion_.end());
  prediction.total_ns = *slowest;
  if (trace_) prediction.critical_path = CriticalPath(static_cast<uint32_t>(slowest - completion_.begin()));
  if (trace_ && timeline_) prediction.timeline = Timeline();
  return prediction;
}

void Simulation::Push(int64_t time, EventKind kind, uint32_t who, uint32_t where) {
  if (time > kPredictionNsMax) {
    failure_ =
        absl::OutOfRangeError(absl::StrCat("plan ", plan_.id.value(), ": the prediction is beyond its range (ns=", time,
                                           ", limit=", kPredictionNsMax, ")"));
    return;
  }
  events_.push({time, event_count_++, kind, who, where});
}

uint32_t Simulation::AddSpan(uint32_t actor, Doing doing, uint32_t peer, int64_t start, int64_t end, uint32_t cause) {
  spans_.push_back({start, end, actor, peer, cause, doing});
  return static_cast<uint32_t>(spans_.size() - 1);
}

void Simulation::Work(uint32_t actor, Doing doing, uint32_t peer, int64_t duration) {
  const int64_t start = now_;
  now_ += duration;
  if (!trace_) return;
  now_span_ = AddSpan(actor, doing, peer, start, now_, now_span_);
  actors_[actor].last_span = now_span_;
}

void Simulation::AddItem(uint32_t node, const Item& item, int64_t time) {
  Actor& actor = actors_[node];
  const uint32_t index = static_cast<uint32_t>(items_.size());
  items_.push_back(item);
  (actor.first_item == kNone ? actor.first_item : items_[actor.last_item].next) = index;
  actor.last_item = index;
  MakeRunnable(node, time);
}

void Simulation::MakeRunnable(uint32_t actor, int64_t time) {
  if (actors_[actor].busy) return;
  actors_[actor].busy = true;
  const uint32_t host = actors_[actor].host;
  if (!hosts_[host].limited) return RunActor(actor, time);
  actors_[actor].runnable_at = time;
  hosts_[host].runnable.push_back(actor);
  GiveCores(host, time);
}

void Simulation::GiveCores(uint32_t host, int64_t time) {
  Host& here = hosts_[host];
  while (here.cores_free > 0 && !here.runnable.empty()) {
    const uint32_t actor = here.runnable.front();
    here.runnable.pop_front();
    --here.cores_free;
    actors_[actor].waited = time > actors_[actor].runnable_at;
    if (actors_[actor].waited) here.wanted_at = time;
    RunActor(actor, time);
  }
}

// One item of a daemon, or one turn of a rank.
void Simulation::RunActor(uint32_t actor, int64_t time) {
  Actor& self = actors_[actor];
  now_ = time;
  if (actor >= nodes_) {
    now_span_ = time == self.ready ? self.cause : hosts_[self.host].last_span;
    RunRank(actor);
  } else {
    const Item item = items_[self.first_item];
    self.first_item = item.next;
    const bool goes_on = self.idle_since == time && self.last_span != kNone;
    now_span_ = time == item.ready ? item.cause : goes_on ? self.last_span : hosts_[self.host].last_span;
    if (self.idle_since != time) GetGoing(actor, time);
    RunDaemon(actor, item);
  }
  self.idle_since = now_;
  Push(now_, EventKind::kDone, actor);
}

void Simulation::Finish(uint32_t actor, int64_t time) {
  Actor& self = actors_[actor];
  if (actor >= nodes_ && !self.posted) {
    self.posted = true;
    const uint32_t rank = actor - nodes_;
    const uint32_t node = shape_.NodeOf(Rank(rank)).value();
    AddItem(node, {time, self.last_span, shape_.LocalIndexOf(Rank(rank)), 0, ItemKind::kRank}, time);
  } else if (self.first_item != kNone) {
    return RunActor(actor, time);  // it keeps its core
  }
  self.busy = false;
  Host& host = hosts_[self.host];
  if (!host.limited) return;
  ++host.cores_free;
  host.last_span = self.last_span;
  GiveCores(self.host, time);
}

// What it takes until an actor without a core does something. While it spins it has one, unless others want it.
void Simulation::GetGoing(uint32_t actor, int64_t time) {
  const Actor& self = actors_[actor];
  const bool spins = self.idle_since >= 0 && time - self.idle_since <= parameters_.spin_ns;
  if (spins && !self.waited && hosts_[self.host].wanted_at < self.idle_since) return;
  Work(actor, Doing::kWake, 0, self.waited ? parameters_.takeover_ns : parameters_.wake_ns);
}

void Simulation::RunRank(uint32_t actor) {
  const bool posts = !actors_[actor].posted;
  if (!posts) GetGoing(actor, now_);
  Work(actor, posts ? Doing::kPost : Doing::kPickUp, 0, parameters_.client_hop_ns);
  if (!posts) completion_[actor - nodes_] = now_;
}

void Simulation::RunDaemon(uint32_t node, const Item& item) {
  switch (item.kind) {
    case ItemKind::kRank:
      TakeRank(node, item.peer);
      break;
    case ItemKind::kPacket:
      TakePacket(node, item);
      break;
    case ItemKind::kCredit:
      Work(node, Doing::kReceive, item.peer, costs_.node(node).receive_overhead_ns);
      for (const auto& [peer, segment] : std::exchange(states_[node].blocked, {})) {
        if (peer == item.peer) {
          Advance(node, segment);
        } else {
          states_[node].blocked.emplace_back(peer, segment);
        }
      }
      break;
  }
  if (blocks_ == nullptr) return;
  Flush(node);
  // Chunks that have ended let others begin, which may end at once.
  while (std::exchange(chunks_may_start_, false)) {
    StartChunks(node);
    Flush(node);
  }
}

void Simulation::StartCall(uint32_t node) {
  NodeState& state = states_[node];
  state.started = true;
  Work(node, Doing::kArm, 0,
       parameters_.arm_ns * static_cast<int64_t>(state.programs[0].ops.size()) * static_cast<int64_t>(segment_count_));
  for (uint32_t s = 0; s < segment_count_; ++s) Advance(node, s);
}

// As many as may be under way at once. Their ranks are all here.
void Simulation::StartChunks(uint32_t node) {
  NodeState& state = states_[node];
  const auto chunks = static_cast<uint32_t>(state.segments_left.size());
  while (state.chunks_started < std::min(chunks, state.chunks_finished + kTeamWindow)) {
    const uint32_t chunk = state.chunks_started++;
    int64_t arm_ns = 0;
    for (uint32_t s = chunk_begin_[chunk]; s < chunk_begin_[chunk + 1]; ++s) {
      const CostProgram& program = state.programs[s];
      arm_ns += parameters_.arm_ns * static_cast<int64_t>(program.ops.size()) +
                kCopyRunNs * static_cast<int64_t>(program.copy_runs);
    }
    Work(node, Doing::kArm, 0, arm_ns);
    for (uint32_t s = chunk_begin_[chunk]; s < chunk_begin_[chunk + 1]; ++s) Advance(node, s);
  }
}

void Simulation::EndSegment(uint32_t node, uint32_t segment) {
  NodeState& state = states_[node];
  --state.segments_left[chunk_of_[segment]];
  const uint32_t before = state.chunks_finished;
  while (state.chunks_finished < state.chunks_started && state.segments_left[state.chunks_finished] == 0) {
    ++state.chunks_finished;
  }
  if (state.chunks_finished == before) return;
  const std::vector<uint32_t> told = std::exchange(state.uncredited, {});
  credits_.insert(credits_.end(), told.begin(), told.end());
  chunks_may_start_ = true;
}

bool Simulation::HasCredit(uint32_t node, uint32_t peer, uint32_t segment) {
  if (chunk_of_[segment] < states_[peer].chunks_finished + kTeamWindow) return true;
  states_[node].blocked.emplace_back(peer, segment);
  std::vector<uint32_t>& waiting = states_[peer].uncredited;
  if (std::find(waiting.begin(), waiting.end(), node) == waiting.end()) waiting.push_back(node);
  return false;
}

void Simulation::TakeRank(uint32_t node, uint32_t local) {
  NodeState& state = states_[node];
  Work(node, Doing::kTakeRank, local, parameters_.arm_ns);
  state.here[local] = true;
  ++state.here_count;
  if (blocks_ != nullptr) {
    if (state.here_count < state.here.size()) return;
    state.started = true;
    return StartChunks(node);
  }
  const uint32_t wait = state.programs[0].wait_of_rank[local];
  if (wait != CostProgram::kNoWait) {
    for (uint32_t s = 0; s < segment_count_; ++s) --state.Pending(s, wait);
  }
  if (!state.started) return StartCall(node);
  for (const Deferred& result : state.deferred) {
    if (result.local == local) Deliver(node, local, result.segment, result.data);
  }
  if (wait == CostProgram::kNoWait) return;
  for (uint32_t s = 0; s < segment_count_; ++s) Advance(node, s);
}

void Simulation::TakePacket(uint32_t node, const Item& item) {
  const Packet packet = packets_[item.which];
  Work(node, Doing::kReceive, item.peer,
       costs_.node(node).receive_overhead_ns + PerByteNs(packet.bytes, parameters_.receive_ps_per_byte));
  for (uint32_t m = packet.messages_begin; m < packet.messages_end && failure_.ok(); ++m) {
    const Message message = messages_[m];
    const uint32_t wait = states_[node].ProgramOf(message.segment).WaitFor(message.phase, item.peer);
    if (wait == CostProgram::kNoWait) {
      failure_ = absl::FailedPreconditionError(absl::StrCat("plan ", plan_.id.value(), ": node ", node,
                                                            " awaits no such packet (from=", item.peer,
                                                            ", phase=", message.phase, ")"));
      return;
    }
    Count(node, message.segment, wait);
  }
}

void Simulation::Count(uint32_t node, uint32_t segment, uint32_t wait) {
  NodeState& state = states_[node];
  uint32_t& pending = state.Pending(segment, wait);
  if (pending == 0) {
    failure_ = absl::FailedPreconditionError(
        absl::StrCat("plan ", plan_.id.value(), ": node ", node, " gets a packet twice (segment=", segment, ")"));
    return;
  }
  --pending;
  const bool started = state.started && (blocks_ == nullptr || chunk_of_[segment] < state.chunks_started);
  if (started && pending == 0) Advance(node, segment);
}

// Runs a segment's sequence up to the next Wait that is not over.
void Simulation::Advance(uint32_t node, uint32_t segment) {
  NodeState& state = states_[node];
  const CostProgram& program = state.ProgramOf(segment);
  if (state.op[segment] == program.ops.size()) return;
  for (uint32_t& at = state.op[segment]; at < program.ops.size(); ++at) {
    const CostProgram::Op& op = program.ops[at];
    const uint64_t bytes = BytesOf(op, segment);
    switch (op.step) {
      case Step::kWait:
        if (state.Pending(segment, state.wait[segment]) > 0) return;
        ++state.wait[segment];
        break;
      case Step::kReduce:
        Work(node, Doing::kReduce, 0, PerByteNs(bytes * (std::max(op.operands, 2u) - 1), parameters_.alu_ps_per_byte));
        break;
      case Step::kCopy:
      case Step::kCopyRuns:
        Work(node, Doing::kCopy, 0, PerByteNs(bytes, parameters_.copy_ps_per_byte));
        break;
      case Step::kSendTo:
        if (op.peer >= nodes_ || op.peer == node) {
          failure_ = absl::FailedPreconditionError(
              absl::StrCat("plan ", plan_.id.value(), ": node ", node, " sends to nobody (to=", op.peer, ")"));
          return;
        }
        if (blocks_ != nullptr) {
          if (!HasCredit(node, op.peer, segment)) return;
          outbox_.push_back({op.peer, segment, op.phase, bytes});
        } else {
          messages_.push_back({op.peer, segment, op.phase, bytes});
          Send(node, static_cast<uint32_t>(messages_.size()) - 1);
        }
        break;
      case Step::kDeliver:
      case Step::kRelease:
        if (state.here[op.peer]) {
          Deliver(node, op.peer, segment, op.step == Step::kDeliver);
        } else {
          state.deferred.push_back({op.peer, segment, op.step == Step::kDeliver});
        }
        break;
      case Step::kStart:
      case Step::kRecvFrom:
      case Step::kRecvLocal:
      case Step::kEnd:
        break;
    }
  }
  if (blocks_ != nullptr) EndSegment(node, segment);
}

void Simulation::Deliver(uint32_t node, uint32_t local, uint32_t segment, bool data) {
  if (data) Work(node, Doing::kDeliver, local, PerByteNs(segments_[segment].bytes, parameters_.copy_ps_per_byte));
  const uint32_t rank = shape_.RanksOf(NodeIndex(node))[local].value();
  CHECK_GT(results_left_[rank], 0u);
  if (--results_left_[rank] > 0) return;
  if (blocks_ != nullptr) {
    told_.push_back(rank);
  } else {
    Push(now_, EventKind::kTurn, rank, now_span_);
  }
}

void Simulation::Send(uint32_t node, uint32_t begin) {
  const uint32_t to = messages_[begin].to;
  uint64_t bytes = 0;
  for (uint32_t m = begin; m < messages_.size(); ++m) bytes += messages_[m].bytes;
  Work(node, Doing::kSend, to, costs_.node(node).send_overhead_ns + PerByteNs(bytes, parameters_.send_ps_per_byte));
  const topology::Path path = costs_.PathBetween(node, to);
  const uint32_t packet = static_cast<uint32_t>(packets_.size());
  packets_.push_back({.from = node,
                      .to = to,
                      .sender_span = now_span_,
                      .bytes = bytes,
                      .messages_begin = begin,
                      .messages_end = static_cast<uint32_t>(messages_.size()),
                      .links_begin = static_cast<uint32_t>(links_.size()),
                      .links_end = 0,
                      .tail_ns = StreamNs(bytes, path.bandwidth_bytes_per_s)});
  if (packets_[packet].tail_ns == 0) return Push(now_ + path.latency_ns, EventKind::kArrived, packet);
  FindLinks(node, to);
  packets_[packet].links_end = static_cast<uint32_t>(links_.size());
  Hop(now_, packet, packets_[packet].links_begin);  // at once: nobody else uses this direction of the node's own link
}

void Simulation::Flush(uint32_t node) {
  // To each peer what there is, in the order in which they were first sent to.
  for (size_t first = 0; first < outbox_.size(); ++first) {
    const uint32_t to = outbox_[first].to;
    if (to == kNone) continue;
    auto begin = static_cast<uint32_t>(messages_.size());
    uint64_t used = kFrameHeaderBytes;
    for (size_t i = first; i < outbox_.size(); ++i) {
      if (outbox_[i].to != to) continue;
      const uint64_t more = kRecordBytes + outbox_[i].bytes;
      if (used + more > kFrameBytes && messages_.size() > begin) {
        Send(node, begin);
        begin = static_cast<uint32_t>(messages_.size());
        used = kFrameHeaderBytes;
      }
      used += more;
      messages_.push_back(outbox_[i]);
      outbox_[i].to = kNone;
    }
    Send(node, begin);
  }
  outbox_.clear();
  for (const uint32_t peer : std::exchange(credits_, {})) {
    Work(node, Doing::kSend, peer, costs_.node(node).send_overhead_ns);
    Push(now_ + costs_.PathBetween(node, peer).latency_ns, EventKind::kCredit, peer, node);
  }
  for (const uint32_t rank : std::exchange(told_, {})) Push(now_, EventKind::kTurn, rank, now_span_);
}

void Simulation::FindLinks(uint32_t from, uint32_t to) {
  const topology::Topology& topology = costs_.topology();
  const auto add_node = [&](uint32_t v, uint32_t down) {
    const topology::Node& node = topology.nodes()[costs_.PlaceOf(v)];
    links_.push_back({node.latency_ns, node.bandwidth_bytes_per_s, 2 * v + down});
  };
  const auto add_switch = [&](uint32_t s, uint32_t down) {
    const topology::Switch& item = topology.switches()[s];
    links_.push_back({item.latency_ns, item.bandwidth_bytes_per_s, 2 * (nodes_ + costs_.SlotOfSwitch(s)) + down});
  };
  const uint32_t top = topology.nodes()[costs_.PlaceOf(from)].parent;
  const uint32_t bottom = topology.nodes()[costs_.PlaceOf(to)].parent;
  const uint32_t common = topology.CommonSwitch(top, bottom);
  add_node(from, 0);
  for (uint32_t s = top; s != common; s = topology.switches()[s].parent) add_switch(s, 0);
  const size_t down_begin = links_.size();
  for (uint32_t s = bottom; s != common; s = topology.switches()[s].parent) add_switch(s, 1);
  std::reverse(links_.begin() + static_cast<ptrdiff_t>(down_begin), links_.end());
  add_node(to, 1);
}

// The packet's head is at link links_[place].
void Simulation::Hop(int64_t time, uint32_t packet, uint32_t place) {
  const Packet& item = packets_[packet];
  const Link& link = links_[place];
  int64_t& free = link_free_[link.busy];
  const int64_t start = std::max(time, free);
  free = start + StreamNs(item.bytes, link.bandwidth);
  const int64_t head = start + link.latency_ns;
  if (place + 1 < item.links_end) {
    Push(head, EventKind::kHop, packet, place + 1);
  } else {
    Push(head + item.tail_ns, EventKind::kArrived, packet);
  }
}

absl::Status Simulation::CheckFinished() const {
  for (uint32_t v = 0; v < nodes_; ++v) {
    for (uint32_t s = 0; s < segment_count_; ++s) {
      if (states_[v].op[s] == states_[v].ProgramOf(s).ops.size()) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "plan ", plan_.id.value(), ": node ", v, " waits for ever (segment=", s, ", wait=", states_[v].wait[s], ")"));
    }
  }
  for (const int64_t completion : completion_)
    CHECK_GE(completion, 0);  // a sequence delivers to every rank of its node
  return absl::OkStatus();
}

PathStep Simulation::StepOf(const Span& span) const {
  PathStep step;
  step.start_ns = span.start;
  step.end_ns = span.end;
  if (span.actor >= nodes_) {
    step.rank = Rank(span.actor - nodes_);
    step.node = shape_.NodeOf(*step.rank);
  } else {
    step.node = NodeIndex(span.actor);
  }
  const auto rank_here = [&] { return shape_.RanksOf(step.node)[span.peer].value(); };
  switch (span.doing) {
    case Doing::kPost:
      step.what = "post";
      break;
    case Doing::kPickUp:
      step.what = "pick up";
      break;
    case Doing::kWake:
      step.what = "wake";
      break;
    case Doing::kTakeRank:
      step.what = absl::StrCat("take rank ", rank_here());
      break;
    case Doing::kArm:
      step.what = "arm";
      break;
    case Doing::kReceive:
      step.what = "receive";
      step.peer = NodeIndex(span.peer);
      break;
    case Doing::kReduce:
      step.what = "reduce";
      break;
    case Doing::kCopy:
      step.what = "copy";
      break;
    case Doing::kSend:
      step.what = "send";
      step.peer = NodeIndex(span.peer);
      break;
    case Doing::kDeliver:
      step.what = absl::StrCat("deliver to rank ", rank_here());
      break;
    case Doing::kTransfer:
      step.what = "transfer";
      step.peer = NodeIndex(span.peer);
      break;
  }
  return step;
}

std::vector<PathStep> Simulation::CriticalPath(uint32_t rank) const {
  std::vector<PathStep> path;
  for (uint32_t at = actors_[nodes_ + rank].last_span; at != kNone; at = spans_[at].cause) {
    path.push_back(StepOf(spans_[at]));
  }
  std::reverse(path.begin(), path.end());
  return path;
}

std::vector<PathStep> Simulation::Timeline() const {
  std::vector<PathStep> steps;
  for (const Span& span : spans_) {
    // A transfer is nobody's work, and many a step takes no time.
    if (span.doing != Doing::kTransfer && span.end > span.start) steps.push_back(StepOf(span));
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const PathStep& a, const PathStep& b) { return a.start_ns < b.start_ns; });
  return steps;
}

}  // namespace

absl::StatusOr<Prediction> Price(const schedule::Plan& plan, const schedule::TeamShape& shape, const TeamCosts& costs,
                                 const schedule::CallArguments& arguments, const PriceOptions& options) {
  RETURN_IF_ERROR(schedule::CheckShape(shape));
  size_t rows = plan.kind == schedule::PlanKind::kTree ? plan.neighbours.size() : plan.steps.size();
  if (plan.kind == schedule::PlanKind::kCirculant) rows = plan.neighbours.empty() ? 0 : plan.neighbours[0].size();
  if (plan.node_count != shape.node_count || costs.node_count() != shape.node_count || rows != shape.node_count) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(),
                                                   ": does not fit the team (nodes=", plan.node_count, ", rows=", rows,
                                                   ", team=", shape.node_count, ", costs=", costs.node_count(), ")"));
  }
  if (plan.root_node.value() >= plan.node_count ||
      (schedule::HasRoot(plan.collective) && arguments.root >= shape.size())) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(),
                                                   ": root out of range (root_node=", plan.root_node.value(),
                                                   ", root=", arguments.root, ", limit=", shape.size(), ")"));
  }
  if (!options.post_ns.empty() && options.post_ns.size() != shape.size()) {
    return absl::InvalidArgumentError(absl::StrCat("plan ", plan.id.value(), ": a post for each rank (posts=",
                                                   options.post_ns.size(), ", ranks=", shape.size(), ")"));
  }
  for (const int64_t post_ns : options.post_ns) {
    if (post_ns < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan ", plan.id.value(), ": a post before the call (ns=", post_ns, ", least=0)"));
    }
  }
  const schedule::ShapeIndex index(shape);
  std::unique_ptr<schedule::BlockProgram> blocks;
  if (schedule::HasBlocks(plan.collective)) {
    ASSIGN_OR_RETURN(
        blocks, schedule::BlockProgram::Create(&plan, &index, arguments,
                                               options.counts != nullptr ? *options.counts : schedule::BlockCounts()));
  }
  return Simulation(plan, index, costs, arguments, options, blocks.get()).Run();
}

}  // namespace copse::planner
