// SPDX-License-Identifier: Apache-2.0
#include "daemon/core/team/epoch_port.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::daemon {
namespace {

// The value of an event in the engine has its kind, the local rank, and the call's number in this epoch.
constexpr uint64_t kNodeDoneBit = uint64_t{1} << 63;
constexpr int kLocalShift = 48;
constexpr uint64_t kCallMask = (uint64_t{1} << kLocalShift) - 1;
static_assert(schedule::kLocalRanksMax < (1u << 15));

// Returns the buffer for descriptors between the lowering and the engine. All ports of a thread share it, so that a
// call allocates nothing and an idle team has no memory for it.
schedule::LoweredCall& Lowered() {
  thread_local schedule::LoweredCall lowered;
  return lowered;
}

}  // namespace

EpochPort::EpochPort(emu::Engine* engine, const schedule::ShapeIndex* shape, NodeIndex self, EpochId epoch,
                     const schedule::TeamLayout& layout, std::shared_ptr<const VerifiedPlans> plans,
                     ReadyTeams::Entry* ready, Instruments* instruments)
    : engine_(engine),
      self_(self),
      epoch_(epoch),
      team_(layout.id),
      window_(layout.window),
      local_ranks_(static_cast<uint32_t>(shape->RanksOf(self).size())),
      ranks_(shape->size()),
      expansions_(shape, self, std::move(plans)),
      edges_(engine, expansions_.plans(), self),
      calls_(window_, local_ranks_),
      events_(ready),
      instruments_(instruments) {}

EpochPort::~EpochPort() {
  if (port_) engine_->ClosePort(*port_);
}

absl::StatusOr<std::unique_ptr<EpochPort>> EpochPort::Open(emu::Engine* engine, const schedule::ShapeIndex* shape,
                                                           const schedule::TeamLayout& layout, NodeIndex self,
                                                           EpochId epoch, std::shared_ptr<const VerifiedPlans> plans,
                                                           ReadyTeams::Entry* ready, Instruments* instruments,
                                                           const PortEdges* like, emu::MemoryOwner* owner) {
  auto port = std::unique_ptr<EpochPort>(
      new EpochPort(engine, shape, self, epoch, layout, std::move(plans), ready, instruments));
  RETURN_IF_ERROR(port->OpenPort(layout, like, owner));
  return port;
}

absl::Status EpochPort::OpenPort(const schedule::TeamLayout& layout, const PortEdges* like, emu::MemoryOwner* owner) {
  const PortNeeds& needs = expansions_.verified()->needs();
  emu::PortOptions options;
  options.job = layout.identity.uid;
  options.owner = owner;
  options.slots = window_;
  options.edges = static_cast<uint32_t>(edges_.nodes().size());
  options.regions =
      window_ * (local_ranks_ * 2 + (needs.blocks ? 1 : 0));  // the last ones are for the daemon's metadata
  options.eq_entries = window_ * (local_ranks_ + 1);
  counters_per_slot_ = needs.counters_per_slot;
  options.cell_bytes = needs.cell_bytes;
  options.counters_per_slot = counters_per_slot_;
  options.sequences = needs.sequences * window_;
  ASSIGN_OR_RETURN(port_, engine_->OpenPort(options, this));
  engine_->NameInTrace(*port_, team_, CallSeq(0));  // packets may come before the first call is known
  return edges_.Open(*port_, layout, like);
}

void EpochPort::SetFirstCall(CallSeq first) {
  first_call_ = first;
  engine_->NameInTrace(*port_, team_, first);
}

CallArguments EpochPort::ArgumentsOf(const CallRecord& call) {
  CallArguments arguments = call.arguments();
  if (call.long_call != nullptr && !call.long_call->blocks()) {
    arguments.count = call.long_call->ChunkAt(call.chunk).bytes / ElementBytes(arguments.type);
  }
  return arguments;
}

schedule::PortMap EpochPort::MapFor(const CallRecord& call) const {
  const uint32_t slot = SlotOf(call.sequence);
  schedule::PortMap map;
  map.counter_base = slot * counters_per_slot_;
  map.scratch = engine_->ScratchRegion(*port_, slot);
  map.rank_send_base = slot * 2 * local_ranks_;
  map.rank_receive_base = map.rank_send_base + local_ranks_;
  map.notes = window_ * 2 * local_ranks_ + slot;
  map.neighbors = edges_.nodes();
  map.edges = edges_.edges();
  map.cells = edges_.CellsOf(slot);
  map.sequence = static_cast<uint16_t>(Relative(call.sequence));
  map.hash = HashArguments(call.arguments());
  map.node_event = NodeEvent(call);
  return map;
}

uint64_t EpochPort::NodeEvent(const CallRecord& call) const {
  return kNodeDoneBit | (Relative(call.sequence) & kCallMask);
}

uint64_t EpochPort::RankEvent(const CallRecord& call, uint32_t local) const {
  return (uint64_t{local} << kLocalShift) | (Relative(call.sequence) & kCallMask);
}

absl::Status EpochPort::Post(uint32_t slot, schedule::LoweredCall* lowered) {
  if (!lowered->runs.empty()) {
    runs_.resize(window_);
    schedule::KeepRuns(lowered, &runs_[slot]);
  }
  for (const schedule::LoweredSequence& s : lowered->sequences) {
    RETURN_IF_ERROR(
        engine_->Post(*port_, s.trigger, absl::MakeConstSpan(lowered->descriptors).subspan(s.first, s.count)));
  }
  return absl::OkStatus();
}

absl::Status EpochPort::Expect(CallSeq sequence, uint16_t hash, const schedule::LoweredCall& lowered) {
  const CallSeq relative(Relative(sequence));
  RETURN_IF_ERROR(engine_->ExpectArrivals(*port_, relative, lowered.awaited));
  return engine_->ExpectHash(*port_, relative, hash);
}

absl::Status EpochPort::ArmBlocks(CallRecord* call, const schedule::Plan& plan) {
  LongCall* const long_call = call->long_call;
  if (long_call->PassesBy(call->chunk)) {
    for (uint32_t l = 0; l < local_ranks_; ++l) OnEvent(*port_, RankEvent(*call, l), /*failed=*/false);
    OnEvent(*port_, NodeEvent(*call), /*failed=*/false);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::vector<schedule::NodeSequence> own, long_call->SequencesOf(call->chunk));
  const std::vector<const schedule::NodeSequence*> sequences = schedule::PointersTo(own);
  schedule::PortMap map = MapFor(*call);
  if (std::vector<uint8_t>& notes = long_call->notes(); !notes.empty()) {
    RETURN_IF_ERROR(engine_->BindRegion(*port_, map.notes, notes.data(), notes.size(), /*writable=*/true));
  }
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerBlocks(plan, sequences, call->arguments(), map, &lowered);
  RETURN_IF_ERROR(Expect(call->sequence, map.hash, lowered));
  RETURN_IF_ERROR(Post(SlotOf(call->sequence), &lowered));
  for (uint32_t l = 0; l < local_ranks_; ++l) {
    map.rank_event = RankEvent(*call, l);
    schedule::LowerBlocksRank(plan, sequences, call->arguments(), map, l, &lowered);
    RETURN_IF_ERROR(Post(SlotOf(call->sequence), &lowered));
  }
  return absl::OkStatus();
}

absl::Status EpochPort::ArmNode(const CallRecord& call, const schedule::Plan& plan) {
  ASSIGN_OR_RETURN(const schedule::Sequences sequences, SequencesOf(call, plan));
  const schedule::PortMap map = MapFor(call);
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerNode(plan, sequences, ArgumentsOf(call), map, &lowered);
  RETURN_IF_ERROR(Expect(call.sequence, map.hash, lowered));
  return Post(SlotOf(call.sequence), &lowered);
}

absl::Status EpochPort::BindRank(const CallRecord& call, uint32_t local, const CallPost& post) {
  const schedule::PortMap map = MapFor(call);
  const uint8_t* send = post.send;
  uint64_t send_bytes = post.send_bytes;
  uint8_t* receive = post.receive;
  uint64_t receive_bytes = post.receive_bytes;
  if (post.send_is_inline) {
    inline_data_.resize(size_t{window_} * local_ranks_);
    std::array<uint8_t, kInlineBytesMax>& kept = inline_data_[size_t{SlotOf(call.sequence)} * local_ranks_ + local];
    kept = post.inline_data;
    send = kept.data();
    send_bytes = kInlineBytesMax;
  }
  if (call.long_call != nullptr && !call.long_call->blocks()) {
    const Chunk chunk = call.long_call->ChunkAt(call.chunk);
    if (send != nullptr) send += chunk.offset;
    if (receive != nullptr) receive += chunk.offset;
    send_bytes = receive_bytes = chunk.bytes;
  }
  // The engine does not write to a contribution: its region is not bound writable.
  RETURN_IF_ERROR(engine_->BindRegion(*port_, map.rank_send_base + local, const_cast<uint8_t*>(send),
                                      send == nullptr ? 0 : send_bytes, /*writable=*/false));
  return engine_->BindRegion(*port_, map.rank_receive_base + local, receive, receive == nullptr ? 0 : receive_bytes,
                             /*writable=*/true);
}

absl::Status EpochPort::ArmRank(const CallRecord& call, const schedule::Plan& plan, uint32_t local) {
  ASSIGN_OR_RETURN(const schedule::Sequences sequences, SequencesOf(call, plan));
  schedule::PortMap map = MapFor(call);
  map.rank_event = RankEvent(call, local);
  schedule::LoweredCall& lowered = Lowered();
  schedule::LowerRank(plan, sequences, ArgumentsOf(call), map, local, &lowered);
  RETURN_IF_ERROR(Post(SlotOf(call.sequence), &lowered));
  for (const emu::CounterIndex counter : lowered.arrivals) RETURN_IF_ERROR(engine_->Count(*port_, counter, 1, 0));
  return absl::OkStatus();
}

absl::Status EpochPort::Start(CallRecord* call, uint32_t local, const CallPost& post) {
  DCHECK(HasSlot(call->sequence));
  const LongCall* const long_call = call->long_call;
  const schedule::Plan* plan = long_call != nullptr ? &long_call->plan() : expansions_.PlanFor(post.arguments);
  const bool blocks = long_call != nullptr && long_call->blocks();
  if (plan == nullptr) return absl::UnimplementedError(absl::StrCat("no plan for ", DescribeArguments(post.arguments)));
  const bool first = call->ranks_posted == 0;
  if (first) {
    if (instruments_ != nullptr) instruments_->CallJoined(team_, call->sequence, true, false, call->arguments());
    if (call->chunk == 0) expansions_.CountCall(*plan);
    if (!blocks) RETURN_IF_ERROR(ArmNode(*call, *plan));
  } else if (!(call->arguments() == post.arguments)) {
    return absl::FailedPreconditionError("arguments differ on this node");
  }
  call->Post(local, post);
  if (instruments_ != nullptr && call->all_posted()) {
    instruments_->CallJoined(team_, call->sequence, false, true, call->arguments());
  }
  RETURN_IF_ERROR(BindRank(*call, local, post));
  if (!blocks) return ArmRank(*call, *plan, local);
  return call->all_posted() ? ArmBlocks(call, *plan) : absl::OkStatus();
}

void EpochPort::Skip(CallSeq sequence) { CHECK(engine_->FinishCall(*port_, CallSeq(Relative(sequence))).ok()); }

void EpochPort::RankNotified(CallRecord* call, uint32_t local, absl::Time now, bool failed) {
  call->Notified(local, failed);
  if (instruments_ == nullptr || failed || call->long_call != nullptr) return;
  instruments_->latencies().Record(call->arguments().collective, call->arguments().bytes(), schedule::CallPart::kCall,
                                   now - call->members[local].posted);
}

bool EpochPort::FinishIfDone(CallRecord* call, absl::Time now) {
  if (!call->done()) return false;
  if (instruments_ != nullptr && !call->failed && call->long_call == nullptr) {
    CallLatencies& latencies = instruments_->latencies();
    const CallArguments& a = call->arguments();
    const absl::Time last = call->last_posted();
    latencies.Record(a.collective, a.bytes(), schedule::CallPart::kRanks, last - call->first_posted());
    latencies.Record(a.collective, a.bytes(), schedule::CallPart::kNetwork, now - last);
  }
  CHECK(engine_->FinishCall(*port_, CallSeq(Relative(call->sequence))).ok());
  UnbindRanks(*call);
  calls_.End(call);
  return true;
}

// Unbinds the call's buffers, since the clients may unmap their memory from now on.
void EpochPort::UnbindRanks(const CallRecord& call) {
  const uint32_t slot = SlotOf(call.sequence);
  for (uint32_t i = 0; i < 2 * local_ranks_; ++i) {
    CHECK(engine_->BindRegion(*port_, slot * 2 * local_ranks_ + i, nullptr, 0, false).ok());
  }
  if (call.long_call != nullptr && call.long_call->blocks()) {
    CHECK(engine_->BindRegion(*port_, window_ * 2 * local_ranks_ + slot, nullptr, 0, false).ok());
  }
}

CallSeq EpochPort::FinishedBelow() const { return CallSeq(first_call_.value() + engine_->Finished(*port_).value()); }

std::vector<NodeIndex> EpochPort::NeighborsOfCall(const CallRecord& call) const {
  const schedule::Plan* plan = expansions_.PlanFor(call.arguments());
  return plan == nullptr ? std::vector<NodeIndex>() : schedule::NeighborsOf(*plan, self_);
}

void EpochPort::OnEvent(emu::PortId, uint64_t value, bool failed) {
  PortEvent event;
  event.sequence = CallSeq(first_call_.value() + (value & kCallMask));
  event.failed = failed;
  if ((value & kNodeDoneBit) != 0) {
    event.kind = PortEvent::Kind::kNodeDone;
    CallRecord* const call = calls_.FindInFlight(event.sequence);
    CHECK(call != nullptr);  // a call's events come before it is finished, or never
    call->node_done = true;
  } else {
    event.kind = PortEvent::Kind::kRankDone;
    event.local = static_cast<uint32_t>(value >> kLocalShift);
  }
  events_.Add(event);
}

void EpochPort::OnMismatch(emu::PortId, uint32_t edge, uint16_t sequence, uint16_t) {
  AddNeighborsEvent(PortEvent::Kind::kMismatch, edge, sequence);
}

void EpochPort::OnWrongArrival(emu::PortId, uint16_t sequence, const emu::Arrival& arrived,
                               const emu::Arrival* awaited) {
  if (events_.Keep(arrived, awaited)) AddNeighborsEvent(PortEvent::Kind::kWrongArrival, arrived.edge, sequence);
}

void EpochPort::AddNeighborsEvent(PortEvent::Kind kind, uint32_t edge, uint16_t sequence) {
  const std::optional<NodeIndex> neighbor = edges_.NodeOfEdge(edge);
  if (!neighbor) return;
  // The packet names its call modulo 2^16; it lies in the window, which begins at the first call that is not over.
  const uint64_t base = engine_->Finished(*port_).value();
  const uint64_t relative = base + static_cast<uint16_t>(sequence - static_cast<uint16_t>(base));
  events_.Add({.kind = kind, .sequence = CallSeq(first_call_.value() + relative), .neighbor = *neighbor});
}

void EpochPort::CheckInvariants() const {
  calls_.CheckInvariants();
  const CallSeq over = FinishedBelow();
  for (const CallRecord* call : calls_.InFlight()) {
    CHECK(call->sequence >= over);
    CHECK(HasSlot(call->sequence));
  }
}

}  // namespace copse::daemon
