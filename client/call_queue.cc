// SPDX-License-Identifier: Apache-2.0

#include "client/call_queue.h"

#include <cstring>
#include <utility>

#include "client/error.h"
#include "client/log.h"

namespace copse::client {

CallQueue::CallQueue(std::unique_ptr<Port> port)
    : port_(std::move(port)), data_area_(port_->data_bytes()), calls_(port_->eq_entries()) {}

CallQueue::PostResult CallQueue::Post(const CallPlan& plan, uint32_t team, Round* round, uint32_t* running) {
  uint64_t value = 0;
  Call* call = calls_.Take(&value);
  if (call == nullptr) return PostResult::kEventsFull;
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
  slot.entry.collective = static_cast<uint8_t>(plan.collective);
  slot.entry.type = static_cast<uint8_t>(plan.type);
  slot.entry.op = static_cast<uint8_t>(plan.op);
  slot.entry.team = team;
  slot.entry.root = plan.root;
  slot.entry.count = plan.count;
  slot.entry.value = value;
  if (!Place(plan, call, &slot)) {
    Release(call);
    return PostResult::kDataFull;
  }
  if (!port_->Push(slot)) {
    Release(call);
    return PostResult::kQueueFull;
  }
  call->round = round;
  call->team = team;
  round->state = Round::State::kInProgress;
  round->value = value;
  round->running = running;
  ++*running;
  return PostResult::kPosted;
}

CallQueue::PostResult CallQueue::PostNop(Round* round) {
  uint64_t value = 0;
  Call* call = calls_.Take(&value);
  if (call == nullptr) return PostResult::kEventsFull;
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kNop);
  slot.entry.value = value;
  if (!port_->Push(slot)) {
    Release(call);
    return PostResult::kQueueFull;
  }
  call->round = round;
  round->state = Round::State::kInProgress;
  round->value = value;
  return PostResult::kPosted;
}

ring::Place CallQueue::PlaceOf(const UserMemory::Range& range, const void* address) const {
  const auto offset = static_cast<uint64_t>(static_cast<const uint8_t*>(address) - range.address);
  if (range.kind == UserMemory::Kind::kDataArea) return {0, 0, range.block.offset + offset};
  return {range.region, 0, offset};
}

// Decides where the contribution and the result lie, and copies the contribution there. False: no room.
bool CallQueue::Place(const CallPlan& plan, Call* call, ring::DqSlot* slot) {
  const bool sends_inline = plan.send != nullptr && plan.bytes <= ring::kInlineBytes;
  const bool in_place = plan.send != nullptr && plan.send == plan.receive;
  if (plan.receive != nullptr) call->receive_range = user_memory_.Reachable(plan.receive, plan.bytes);
  if (plan.send != nullptr && !sends_inline && !in_place) {
    call->send_range = user_memory_.Reachable(plan.send, plan.bytes);
  }
  const bool stages_receive = plan.receive != nullptr && call->receive_range == nullptr;
  const bool stages_send = plan.send != nullptr && !sends_inline && call->send_range == nullptr &&
                           !(in_place && call->receive_range != nullptr);
  ring::Place staged{};
  if (stages_receive || stages_send) {
    // One block for both: the daemon reads the contribution before it writes the result, as in place.
    const auto block = data_area_.Allocate(plan.bytes);
    if (!block.has_value()) {
      call->send_range = call->receive_range = nullptr;
      return false;
    }
    call->staging = *block;
    staged.offset = block->offset;
  }
  if (plan.receive != nullptr) {
    slot->receive = stages_receive ? staged : PlaceOf(*call->receive_range, plan.receive);
  }
  if (stages_receive) {
    call->copy_to = plan.receive;
    call->copy_bytes = plan.bytes;
  }
  if (sends_inline) {
    slot->entry.flags = ring::kSendInline;
    memcpy(slot->entry.payload, plan.send, plan.bytes);
  } else if (stages_send) {
    memcpy(port_->data() + staged.offset, plan.send, plan.bytes);
    slot->entry.send = staged;
    if (stages_receive) slot->entry.flags = ring::kInPlace;
  } else if (in_place) {
    slot->entry.send = slot->receive;
    slot->entry.flags = ring::kInPlace;
  } else if (plan.send != nullptr) {
    slot->entry.send = PlaceOf(*call->send_range, plan.send);
  }
  if (call->send_range != nullptr) ++call->send_range->calls;
  if (call->receive_range != nullptr) ++call->receive_range->calls;
  return true;
}

uint32_t CallQueue::Drain() {
  uint32_t count = 0;
  ring::EqEntry event;
  while (!broken_) {
    const Port::Next next = port_->Pop(&event);
    if (next == Port::Next::kNone) break;
    if (next == Port::Next::kBroken) {
      broken_ = true;
      break;
    }
    ++count;
    Call* call = calls_.Find(event.value);
    if (call == nullptr) {
      Log(LogLevel::kWarning, "an event of no call was ignored (value=0x%llx)",
          static_cast<unsigned long long>(event.value));
      continue;
    }
    Finish(call, StatusFromWire(event.status), event.status == 0 ? std::string() : port_->Text(event.text));
  }
  return count;
}

void CallQueue::Finish(Call* call, copse_status_t status, const std::string& text) {
  if (call->round != nullptr) {
    if (status == COPSE_OK && call->copy_to != nullptr) {
      memcpy(call->copy_to, port_->data() + call->staging.offset, call->copy_bytes);
    }
    call->round->End(status, text);
  }
  Release(call);
}

void CallQueue::Release(Call* call) {
  data_area_.Free(call->staging);
  for (UserMemory::Range* range : {call->send_range, call->receive_range}) {
    if (range == nullptr) continue;
    if (--range->calls == 0 && range->freed) DropRange(range);
  }
  calls_.Release(call);
}

void CallQueue::DropRange(UserMemory::Range* range) {
  if (range->kind == UserMemory::Kind::kDataArea) data_area_.Free(range->block);
  if (range->kind == UserMemory::Kind::kRegion) dropped_regions_.push_back(range->region);
  user_memory_.Drop(range);
}

std::vector<uint32_t> CallQueue::TakeDroppedRegions() { return std::exchange(dropped_regions_, {}); }

void CallQueue::Detach(Round* round) {
  if (Call* call = calls_.Find(round->value)) call->round = nullptr;
  round->End(COPSE_ERR_CANCELED, "");
}

bool CallQueue::InFlight(uint32_t team) const {
  for (const Call& call : calls_.calls()) {
    if (call.in_use && call.team == team) return true;
  }
  return false;
}

void CallQueue::EndAll(copse_status_t status, const std::string& text) {
  for (Call& call : calls_.calls()) {
    if (call.in_use) Finish(&call, status, text);
  }
}

}  // namespace copse::client
