// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/epoch_port.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "schedule/select_plan.h"

namespace copse::daemon {
namespace {

// Expansions kept per plan. A program that rotates the root through a large team makes them anew.
constexpr size_t kExpansionsMax = 64;

// An event's value in the engine: what it is about, whose, and which call of this epoch.
constexpr uint64_t kNodeDoneBit = uint64_t{1} << 63;
constexpr int kLocalShift = 48;
constexpr uint64_t kCallMask = (uint64_t{1} << kLocalShift) - 1;
static_assert(schedule::kLocalRanksMax < (1u << 15));

// Descriptors on their way from the lowering to the engine: one buffer for all ports of a thread, so that nothing is
// allocated on a call's path and an idle team costs nothing for it.
schedule::LoweredCall& Lowered() {
  thread_local schedule::LoweredCall lowered;
  return lowered;
}

}  // namespace

EpochPort::EpochPort(emu::Engine* engine, const schedule::ShapeIndex* shape, NodeIndex self, EpochId epoch,
                     uint32_t window, std::vector<schedule::Plan> plans, ReadyTeams::Entry* ready,
                     Instruments* instruments, TeamId team)
    : engine_(engine),
      shape_(shape),
      self_(self),
      epoch_(epoch),
      window_(window),
      local_ranks_(static_cast<uint32_t>(shape->RanksOf(self).size())),
      plans_(std::move(plans)),
      ready_(ready),
      instruments_(instruments),
      team_(team) {
  prepared_.resize(plans_.size());
  for (const schedule::Plan& plan : plans_) {
    for (const NodeIndex node : schedule::NeighboursOf(plan, self)) neighbours_.push_back(node.value());
  }
  std::sort(neighbours_.begin(), neighbours_.end());
  neighbours_.erase(std::unique(neighbours_.begin(), neighbours_.end()), neighbours_.end());
  remote_known_.assign(neighbours_.size(), false);
}

EpochPort::~EpochPort() {
  if (open_) engine_->ClosePort(port_);
}

absl::StatusOr<std::unique_ptr<EpochPort>> EpochPort::Open(emu::Engine* engine, const schedule::ShapeIndex* shape,
                                                           const schedule::TeamLayout& layout, NodeIndex self,
                                                           EpochId epoch, std::vector<schedule::Plan> plans,
                                                           ReadyTeams::Entry* ready, Instruments* instruments) {
  auto port = std::unique_ptr<EpochPort>(
      new EpochPort(engine, shape, self, epoch, layout.window, std::move(plans), ready, instruments, layout.id));
  RETURN_IF_ERROR(port->OpenPort(layout));
  return port;
}

absl::Status EpochPort::OpenPort(const schedule::TeamLayout& layout) {
  emu::PortOptions options;
  options.job = layout.identity.uid;
  options.slots = window_;
  options.edges = static_cast<uint32_t>(neighbours_.size());
  const bool blocks =
      std::any_of(plans_.begin(), plans_.end(), [](const schedule::Plan& plan) { return HasBlocks(plan.collective); });
  options.regions = window_ * (local_ranks_ * 2 + (blocks ? 1 : 0));  // the last ones are the daemon's own notes
  options.eq_entries = window_ * (local_ranks_ + 1);
  uint32_t sequences = 0;
  for (const schedule::Plan& plan : plans_) {
    counters_per_slot_ = std::max(counters_per_slot_, schedule::CountersPerSlot(plan, local_ranks_));
    sequences = std::max(sequences, schedule::SequencesPerCall(plan, local_ranks_));
    if (plan.collective == Collective::kAlltoall) {
      sequences = std::max(sequences, schedule::SequencesPerFold(plan, local_ranks_, shape_->size()));
    }
    options.cell_bytes = std::max(options.cell_bytes, schedule::CellBytes(plan));
  }
  options.counters_per_slot = counters_per_slot_;
  options.sequences = sequences * window_;
  ASSIGN_OR_RETURN(port_, engine_->OpenPort(options, this));
  open_ = true;
  engine_->NameInTrace(port_, team_, CallSeq(0));  // packets may come before the first call is known
  for (const uint32_t node : neighbours_) {
    ASSIGN_OR_RETURN(const emu::Engine::NewEdge edge, engine_->AddEdge(port_, layout.nodes[node].incarnation));
    edges_.push_back(edge.edge);
    labels_.push_back(static_cast<uint32_t>(edge.label));
  }
  for (uint32_t slot = 0; slot < window_; ++slot) {
    for (const uint32_t edge : edges_) cells_.push_back(engine_->CellRegion(port_, edge, slot));
  }
  return absl::OkStatus();
}

void EpochPort::SetFirstCall(CallSeq first) {
  first_call_ = first;
  engine_->NameInTrace(port_, team_, first);
}

std::vector<schedule::EdgeLabel> EpochPort::IncomingLabels() const {
  std::vector<schedule::EdgeLabel> labels;
  for (size_t i = 0; i < neighbours_.size(); ++i) labels.push_back({NodeIndex(neighbours_[i]), labels_[i]});
  return labels;
}

uint32_t EpochPort::LabelFor(NodeIndex neighbour) const {
  const auto it = std::lower_bound(neighbours_.begin(), neighbours_.end(), neighbour.value());
  if (it == neighbours_.end() || *it != neighbour.value()) return 0;
  return labels_[it - neighbours_.begin()];
}

absl::Status EpochPort::SetRemoteLabel(NodeIndex neighbour, uint32_t label) {
  const auto it = std::lower_bound(neighbours_.begin(), neighbours_.end(), neighbour.value());
  if (it == neighbours_.end() || *it != neighbour.value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("label of a node that is no neighbour (node=", neighbour.value(), ")"));
  }
  const size_t i = it - neighbours_.begin();
  RETURN_IF_ERROR(engine_->SetRemoteLabel(port_, edges_[i], static_cast<emu::Label>(label)));
  remote_known_[i] = true;
  return absl::OkStatus();
}

bool EpochPort::HasAllRemoteLabels() const {
  return std::find(remote_known_.begin(), remote_known_.end(), false) == remote_known_.end();
}

const schedule::Plan* EpochPort::PlanFor(const CallArguments& arguments) const {
  return schedule::PlanFor(plans_, arguments, shape_->size());
}

bool EpochPort::HasSlot(CallSeq sequence) const {
  return Relative(sequence) < engine_->Finished(port_).value() + window_;
}

EpochPort::Prepared& EpochPort::PreparedOf(size_t plan) {
  std::unique_ptr<Prepared>& prepared = prepared_[plan];
  if (prepared == nullptr) prepared = std::make_unique<Prepared>(plans_[plan]);
  return *prepared;
}

const PlanIndex& EpochPort::IndexOf(const schedule::Plan& plan) {
  Prepared& prepared = PreparedOf(static_cast<size_t>(&plan - plans_.data()));
  if (prepared.blocks == nullptr) prepared.blocks = std::make_unique<PlanIndex>(*shape_, plan);
  return *prepared.blocks;
}

CallArguments EpochPort::ArgumentsOf(const Call& call) {
  CallArguments arguments = call.arguments;
  if (call.long_call != nullptr && !call.long_call->blocks()) {
    arguments.count = call.long_call->ChunkAt(call.chunk()).bytes / ElementBytes(arguments.type);
  }
  return arguments;
}

absl::StatusOr<const schedule::NodeSequence*> EpochPort::ExpandCached(size_t plan, const CallArguments& arguments,
                                                                      uint32_t rotation) {
  Prepared& prepared = PreparedOf(plan);
  auto& cache = prepared.by_root;
  const uint32_t root = HasRoot(arguments.collective) ? arguments.root : rotation;
  const auto it = cache.find(root);
  if (it != cache.end()) return it->second.get();
  // Sequences do not depend on the size within the class, but Expand checks it; the last chunk of a call may be
  // shorter.
  const schedule::NodeView view = schedule::ViewOf(*shape_, plans_[plan], self_, arguments, rotation);
  auto sequence = std::make_unique<schedule::NodeSequence>();
  if (LongCall::Needed(arguments)) {
    *sequence = schedule::ExpandAs(arguments.collective, plans_[plan], prepared.index, view);
  } else {
    ASSIGN_OR_RETURN(*sequence, schedule::Expand(plans_[plan], prepared.index, view, arguments));
  }
  // Rotations are as many as nodes at most, and in use together.
  if (cache.size() >= kExpansionsMax && HasRoot(arguments.collective)) cache.clear();
  return cache.emplace(root, std::move(sequence)).first->second.get();
}

absl::StatusOr<schedule::Sequences> EpochPort::SequencesOf(const Call& call, size_t plan) {
  thread_local std::vector<const schedule::NodeSequence*> sequences;
  sequences.clear();
  const uint32_t rotations = schedule::RotationsOf(plans_[plan]);
  const uint32_t count =
      rotations == 1 ? 1 : schedule::SegmentCount(plans_[plan], schedule::ChunkBytesMax(plans_[plan]));
  const uint64_t first = call.long_call == nullptr ? 0 : call.chunk() * count;
  for (uint32_t s = 0; s < count; ++s) {
    ASSIGN_OR_RETURN(const schedule::NodeSequence* sequence,
                     ExpandCached(plan, call.arguments, static_cast<uint32_t>((first + s) % rotations)));
    sequences.push_back(sequence);
  }
  return schedule::Sequences(sequences);
}

schedule::PortMap EpochPort::MapFor(const Call& call) const {
  const uint32_t slot = SlotOf(call.sequence);
  schedule::PortMap map;
  map.counter_base = slot * counters_per_slot_;
  map.scratch = engine_->ScratchRegion(port_, slot);
  map.rank_send_base = slot * 2 * local_ranks_;
  map.rank_receive_base = map.rank_send_base + local_ranks_;
  map.notes = window_ * 2 * local_ranks_ + slot;
  map.neighbours = neighbours_;
  map.edges = edges_;
  map.cells = absl::MakeConstSpan(cells_).subspan(slot * neighbours_.size(), neighbours_.size());
  map.sequence = static_cast<uint16_t>(Relative(call.sequence));
  map.hash = HashArguments(call.arguments);
  map.node_event = NodeEvent(call);
  return map;
}

uint64_t EpochPort::NodeEvent(const Call& call) const { return kNodeDoneBit | (Relative(call.sequence) & kCallMask); }

uint64_t EpochPort::RankEvent(const Call& call, uint32_t local) const {
  return (uint64_t{local} << kLocalShift) | (Relative(call.sequence) & kCallMask);
}

absl::Status EpochPort::Post(uint32_t slot, schedule::LoweredCall* lowered) {
  if (!lowered->runs.empty()) {
    runs_.resize(window_);
    schedule::KeepRuns(lowered, &runs_[slot]);
  }
  for (const schedule::LoweredSequence& s : lowered->sequences) {
    RETURN_IF_ERROR(
        engine_->Post(port_, s.trigger, absl::MakeConstSpan(lowered->descriptors).subspan(s.first, s.count)));
  }
  return absl::OkStatus();
}

absl::Status EpochPort::ArmBlocks(Call* call, size_t plan) {
  if (call->long_call->PassesBy(call->chunk())) {
    for (uint32_t l = 0; l < local_ranks_; ++l) OnEvent(port_, RankEvent(*call, l), /*failed=*/false);
    OnEvent(port_, NodeEvent(*call), /*failed=*/false);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> own, call->long_call->SequencesOf(call->chunk()));
  const std::vector<const schedule::NodeSequence*> sequences = schedule::PointersTo(own);
  schedule::PortMap map = MapFor(*call);
  RETURN_IF_ERROR(engine_->ExpectHash(port_, CallSeq(Relative(call->sequence)), map.hash));
  std::vector<uint8_t>& notes = call->long_call->notes();
  if (!notes.empty()) {
    RETURN_IF_ERROR(engine_->BindRegion(port_, map.notes, notes.data(), notes.size(), /*writable=*/true));
  }
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerBlocks(plans_[plan], sequences, call->arguments, map, &lowered);
  RETURN_IF_ERROR(Post(SlotOf(call->sequence), &lowered));
  for (uint32_t l = 0; l < local_ranks_; ++l) {
    map.rank_event = RankEvent(*call, l);
    schedule::LowerBlocksRank(plans_[plan], sequences, call->arguments, map, l, &lowered);
    RETURN_IF_ERROR(Post(SlotOf(call->sequence), &lowered));
  }
  return absl::OkStatus();
}

absl::Status EpochPort::ArmNode(Call* call, size_t plan) {
  ASSIGN_OR_RETURN(const schedule::Sequences sequences, SequencesOf(*call, plan));
  const schedule::PortMap map = MapFor(*call);
  RETURN_IF_ERROR(engine_->ExpectHash(port_, CallSeq(Relative(call->sequence)), map.hash));
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerNode(plans_[plan], sequences, ArgumentsOf(*call), map, &lowered);
  return Post(SlotOf(call->sequence), &lowered);
}

absl::Status EpochPort::BindRank(const Call& call, uint32_t local, const HeldPost& held) {
  const schedule::PortMap map = MapFor(call);
  const uint8_t* send = held.post.send;
  uint64_t send_bytes = held.post.send_bytes;
  uint8_t* receive = held.post.receive;
  uint64_t receive_bytes = held.post.receive_bytes;
  if (held.post.send_is_inline) {
    inline_data_.resize(size_t{window_} * local_ranks_);
    std::array<uint8_t, kInlineBytesMax>& kept = inline_data_[size_t{SlotOf(call.sequence)} * local_ranks_ + local];
    kept = held.inline_data;
    send = kept.data();
    send_bytes = kInlineBytesMax;
  }
  if (call.long_call != nullptr && !call.long_call->blocks()) {
    const Chunk chunk = call.long_call->ChunkAt(call.chunk());
    if (send != nullptr) send += chunk.offset;
    if (receive != nullptr) receive += chunk.offset;
    send_bytes = receive_bytes = chunk.bytes;
  }
  // The engine's regions are written only if bound writable: contributions are not.
  RETURN_IF_ERROR(engine_->BindRegion(port_, map.rank_send_base + local, const_cast<uint8_t*>(send),
                                      send == nullptr ? 0 : send_bytes, /*writable=*/false));
  return engine_->BindRegion(port_, map.rank_receive_base + local, receive, receive == nullptr ? 0 : receive_bytes,
                             /*writable=*/true);
}

absl::Status EpochPort::ArmRank(Call* call, size_t plan, uint32_t local) {
  ASSIGN_OR_RETURN(const schedule::Sequences sequences, SequencesOf(*call, plan));
  schedule::PortMap map = MapFor(*call);
  map.rank_event = RankEvent(*call, local);
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerRank(plans_[plan], sequences, ArgumentsOf(*call), map, local, &lowered);
  RETURN_IF_ERROR(Post(SlotOf(call->sequence), &lowered));
  for (const emu::CounterIndex counter : lowered.arrivals) RETURN_IF_ERROR(engine_->Count(port_, counter, 1, 0));
  return absl::OkStatus();
}

absl::Status EpochPort::Start(CallSeq sequence, uint32_t local, const HeldPost& held, absl::Time now,
                              LongCall* long_call) {
  CHECK(HasSlot(sequence));
  if (calls_.empty()) calls_.resize(window_);
  std::unique_ptr<Call>& place = calls_[SlotOf(sequence)];
  if (place == nullptr) {
    place = std::make_unique<Call>();
    place->members.resize(local_ranks_);
  }
  Call& call = *place;
  const schedule::Plan* plan = long_call != nullptr ? &long_call->plan() : PlanFor(held.post.arguments);
  const bool blocks = long_call != nullptr && long_call->blocks();
  if (plan == nullptr)
    return absl::UnimplementedError(absl::StrCat("no plan for ", DescribeArguments(held.post.arguments)));
  const size_t plan_index = plan - plans_.data();
  const bool first = !call.active;
  if (first) {
    call.active = true;
    call.sequence = sequence;
    call.arguments = held.post.arguments;
    call.started = call.probed = now;
    call.node_done = false;
    call.ranks_told = 0;
    call.failed = false;
    call.long_call = long_call;
    std::fill(call.members.begin(), call.members.end(), Call::Member{});
    if (instruments_ != nullptr) instruments_->CallJoined(team_, sequence, true, false, call.arguments);
    if (!blocks) RETURN_IF_ERROR(ArmNode(&call, plan_index));
  } else if (!(call.arguments == held.post.arguments)) {
    return absl::FailedPreconditionError("arguments differ on this node");
  }
  Call::Member& member = call.members[local];
  CHECK(call.sequence == sequence);
  CHECK(!member.posted);
  member.posted = true;
  member.value = held.post.value;
  if (instruments_ != nullptr) {
    if (times_ == nullptr) times_ = std::make_unique<CallTimes>(window_, local_ranks_);
    times_->OnPosted(SlotOf(sequence), local, first, held.posted);
    const bool last = std::all_of(call.members.begin(), call.members.end(), [](const auto& m) { return m.posted; });
    instruments_->CallJoined(team_, sequence, false, last, call.arguments);
  }
  RETURN_IF_ERROR(BindRank(call, local, held));
  if (!blocks) return ArmRank(&call, plan_index, local);
  const bool all = std::all_of(call.members.begin(), call.members.end(), [](const auto& m) { return m.posted; });
  return all ? ArmBlocks(&call, plan_index) : absl::OkStatus();
}

void EpochPort::Skip(CallSeq sequence) { CHECK(engine_->FinishCall(port_, CallSeq(Relative(sequence))).ok()); }

void EpochPort::TakeEvents(std::vector<PortEvent>* events) {
  events->clear();
  events->swap(events_);
}

void EpochPort::RankTold(CallSeq sequence, uint32_t local, absl::Time now, bool failed) {
  Call& call = At(sequence);
  CHECK(call.active);
  CHECK(!call.members[local].told);
  call.members[local].told = true;
  ++call.ranks_told;
  call.failed |= failed;
  if (instruments_ == nullptr || failed || call.long_call != nullptr) return;
  instruments_->latencies().Record(call.arguments.collective, call.arguments.bytes(), schedule::CallPart::kCall,
                                   now - times_->posted(SlotOf(sequence), local));
}

bool EpochPort::FinishIfDone(CallSeq sequence, absl::Time now) {
  Call& call = At(sequence);
  if (!call.active || call.sequence != sequence || !call.node_done || call.ranks_told < local_ranks_) return false;
  call.active = false;
  const uint32_t slot = SlotOf(sequence);
  if (instruments_ != nullptr && !call.failed && call.long_call == nullptr) {
    CallLatencies& latencies = instruments_->latencies();
    const CallArguments& a = call.arguments;
    const absl::Time last = times_->last_posted(slot);
    latencies.Record(a.collective, a.bytes(), schedule::CallPart::kRanks, last - times_->first_posted(slot));
    latencies.Record(a.collective, a.bytes(), schedule::CallPart::kNetwork, now - last);
  }
  CHECK(engine_->FinishCall(port_, CallSeq(Relative(sequence))).ok());
  for (uint32_t i = 0; i < 2 * local_ranks_; ++i) {
    CHECK(engine_->BindRegion(port_, slot * 2 * local_ranks_ + i, nullptr, 0, false).ok());
  }
  if (call.long_call != nullptr && call.long_call->blocks()) {
    CHECK(engine_->BindRegion(port_, window_ * 2 * local_ranks_ + slot, nullptr, 0, false).ok());
  }
  return true;
}

CallSeq EpochPort::FinishedBelow() const { return CallSeq(first_call_.value() + engine_->Finished(port_).value()); }

const EpochPort::Call* EpochPort::Find(CallSeq sequence) const {
  if (sequence < first_call_ || calls_.empty()) return nullptr;
  const Call* call = calls_[SlotOf(sequence)].get();
  return call != nullptr && call->active && call->sequence == sequence ? call : nullptr;
}

std::vector<const EpochPort::Call*> EpochPort::InFlight() const {
  std::vector<const Call*> calls;
  for (const std::unique_ptr<Call>& call : calls_) {
    if (call != nullptr && call->active) calls.push_back(call.get());
  }
  std::sort(calls.begin(), calls.end(), [](const Call* a, const Call* b) { return a->sequence < b->sequence; });
  return calls;
}

void EpochPort::MarkProbed(CallSeq sequence, absl::Time now) { At(sequence).probed = now; }

std::vector<NodeIndex> EpochPort::NeighboursOfCall(const Call& call) const {
  const schedule::Plan* plan = PlanFor(call.arguments);
  return plan == nullptr ? std::vector<NodeIndex>() : schedule::NeighboursOf(*plan, self_);
}

void EpochPort::OnEvent(emu::PortId, uint64_t value, bool failed) {
  PortEvent event;
  event.sequence = CallSeq(first_call_.value() + (value & kCallMask));
  event.failed = failed;
  if ((value & kNodeDoneBit) != 0) {
    event.kind = PortEvent::Kind::kNodeDone;
    At(event.sequence).node_done = true;
  } else {
    event.kind = PortEvent::Kind::kRankDone;
    event.local = static_cast<uint32_t>(value >> kLocalShift);
  }
  events_.push_back(event);
  ready_->Mark();
}

void EpochPort::OnMismatch(emu::PortId, uint32_t edge, uint16_t sequence, uint16_t) {
  const auto it = std::find(edges_.begin(), edges_.end(), edge);
  if (it == edges_.end()) return;
  // The packet names its call modulo 2^16; it lies in the window, which begins at the first call that is not over.
  const uint64_t base = engine_->Finished(port_).value();
  const uint64_t relative = base + static_cast<uint16_t>(sequence - static_cast<uint16_t>(base));
  events_.push_back({.kind = PortEvent::Kind::kMismatch,
                     .sequence = CallSeq(first_call_.value() + relative),
                     .neighbour = NodeIndex(neighbours_[it - edges_.begin()])});
  ready_->Mark();
}

}  // namespace copse::daemon
