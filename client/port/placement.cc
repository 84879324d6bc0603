// SPDX-License-Identifier: Apache-2.0

#include "client/port/placement.h"

#include <cstring>

#include "client/port/data_area.h"
#include "collectives/block.h"

namespace copse::client {
namespace {

using Kind = BufferKind;

ring::Place PlaceIn(const UserMemory::UserRange& range, const uint8_t* address) {
  const auto offset = static_cast<uint64_t>(address - range.address);
  if (range.kind == UserMemory::Kind::kDataArea) return {0, 0, range.block.offset + offset};
  return {range.region, 0, offset};
}

ring::Place PlaceIn(const Staging::Allocation& block, uint64_t offset) {
  return {block.area->region, 0, block.range.offset + offset};
}

ring::Place Beyond(ring::Place place, uint64_t offset) {
  place.offset += offset;
  return place;
}

void CopyIn(const BufferPlan& buffer, uint8_t* to) {
  if (buffer.kind == Kind::kBlocks && buffer.blocks != nullptr) {
    buffer.blocks->Pack(buffer.address, to);
  } else {
    memcpy(to, buffer.address, buffer.bytes);
  }
}

}  // namespace

Placement::Placement(const CallPlan& plan, UserMemory* memory) : plan_(plan), memory_(memory) {
  // The outer buffer is placed first, since the inner one's path depends on it.
  if (plan.nesting == Nesting::kReceiveInSend) {
    ChooseSend();
    ChooseReceive();
  } else {
    ChooseReceive();
    ChooseSend();
  }
  if (receive_ == BufferPath::kStaged) receive_at_ = TakeStaging(plan.receive.bytes);
  if (send_ == BufferPath::kStaged) send_at_ = TakeStaging(plan.send.bytes);
  send_list_at_ = TakeList(plan.send);
  receive_list_at_ = TakeList(plan.receive);
}

void Placement::ChooseReceive() {
  const BufferPlan& receive = plan_.receive;
  if (receive.address == nullptr) return;
  const bool in_send = plan_.nesting == Nesting::kReceiveInSend;
  if (in_send && plan_.in_place) {
    receive_ = BufferPath::kNested;
    return;
  }
  receive_range_ = memory_->Reachable(receive.address, receive.span);
  if (receive_range_ != nullptr) {
    receive_ = BufferPath::kDirect;
  } else {
    receive_ = in_send && send_ == BufferPath::kStaged ? BufferPath::kNested : BufferPath::kStaged;
  }
}

void Placement::ChooseSend() {
  const BufferPlan& send = plan_.send;
  if (send.address == nullptr) return;
  if (send.kind == Kind::kOne && send.bytes <= ring::kInlineBytes &&
      !IsIrregular(static_cast<Collective>(plan_.collective))) {
    send_ = BufferPath::kInline;
    return;
  }
  const bool in_receive = plan_.nesting == Nesting::kSendInReceive && plan_.receive.address != nullptr;
  if (in_receive && plan_.in_place) {
    send_ = BufferPath::kNested;
    return;
  }
  // Without nesting, the contribution would be overwritten while other ranks still need it.
  const bool must_copy = plan_.in_place && plan_.nesting == Nesting::kNone && plan_.receive.address != nullptr;
  if (!must_copy) send_range_ = memory_->Reachable(send.address, send.span);
  if (send_range_ != nullptr) {
    send_ = BufferPath::kDirect;
  } else {
    send_ = in_receive && receive_ == BufferPath::kStaged ? BufferPath::kNested : BufferPath::kStaged;
  }
}

uint64_t Placement::TakeStaging(uint64_t bytes) {
  const uint64_t at = ring::RoundUp(staging_bytes_, DataArea::kGranuleBytes);
  staging_bytes_ = at + bytes;
  return at;
}

uint64_t Placement::TakeList(const BufferPlan& buffer) {
  return buffer.blocks == nullptr ? 0 : TakeStaging(buffer.blocks->list().size() * sizeof(Block));
}

void Placement::Fill(const Staging::Allocation& block, ring::DqSlot* slot, CallInFlight* call) const {
  const BufferPlan& send = plan_.send;
  const BufferPlan& receive = plan_.receive;
  call->staging = block;
  call->send_range = send_range_;
  call->receive_range = receive_range_;
  for (UserMemory::UserRange* range : {send_range_, receive_range_}) {
    if (range != nullptr) ++range->calls;
  }

  if (send_ == BufferPath::kDirect) slot->entry.send = PlaceIn(*send_range_, send.address);
  if (send_ == BufferPath::kStaged) slot->entry.send = PlaceIn(block, send_at_);
  if (receive_ == BufferPath::kDirect) slot->receive = PlaceIn(*receive_range_, receive.address);
  if (receive_ == BufferPath::kStaged) slot->receive = PlaceIn(block, receive_at_);
  uint64_t result_at = receive_at_;  // offset in the staging buffer
  if (receive_ == BufferPath::kNested) {
    result_at = send_at_ + plan_.own_packed_offset;
    slot->receive = Beyond(slot->entry.send, send_ == BufferPath::kDirect ? plan_.own_offset : plan_.own_packed_offset);
  }
  uint64_t contribution_at = send_at_;
  if (send_ == BufferPath::kNested) {
    contribution_at = receive_at_ + plan_.own_packed_offset;
    slot->entry.send =
        Beyond(slot->receive, receive_ == BufferPath::kDirect ? plan_.own_offset : plan_.own_packed_offset);
    if (receive.kind == Kind::kOne) slot->entry.flags |= ring::kInPlace;
  }

  if (send_ == BufferPath::kInline) {
    slot->entry.flags |= ring::kSendInline;
    memcpy(slot->entry.payload, send.address, send.bytes);
  } else if (send_ == BufferPath::kStaged || (send_ == BufferPath::kNested && receive_ == BufferPath::kStaged)) {
    CopyIn(send, block.address() + contribution_at);
  }
  const bool result_is_staged = receive_ == BufferPath::kStaged || (receive_ == BufferPath::kNested && !plan_.in_place);
  if (result_is_staged) {
    call->copy_to = receive.address;
    call->copy_from = block.address() + result_at;
    call->copy_bytes = receive.bytes;
    if (receive.kind == Kind::kBlocks) call->copy_blocks = receive.blocks;
  }

  ring::ListPlaces lists{};
  if (send.blocks != nullptr) {
    send.blocks->WriteList(/*packed=*/send_ != BufferPath::kDirect, block.address() + send_list_at_);
    lists.send = PlaceIn(block, send_list_at_);
  }
  if (receive.blocks != nullptr) {
    receive.blocks->WriteList(/*packed=*/receive_ != BufferPath::kDirect, block.address() + receive_list_at_);
    lists.receive = PlaceIn(block, receive_list_at_);
  }
  if (IsIrregular(static_cast<Collective>(plan_.collective))) memcpy(slot->entry.payload, &lists, sizeof(lists));
}

}  // namespace copse::client
