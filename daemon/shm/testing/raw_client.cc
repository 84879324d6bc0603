// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/testing/raw_client.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/version.h"
#include "collectives/call_arguments.h"
#include "offload_emu/alu/alu.h"

namespace copse::daemon {

RawClient::RawClient(const std::string& socket_name, std::function<void()> turn)
    : turn_(std::move(turn)), socket_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  memcpy(address.sun_path, socket_name.data(), socket_name.size());
  size_t bytes = offsetof(sockaddr_un, sun_path) + socket_name.size();
  if (socket_name[0] == '@') {
    address.sun_path[0] = '\0';
  } else {
    ++bytes;
  }
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), static_cast<socklen_t>(bytes)) != 0) {
    socket_.reset();
  }
}

bool RawClient::Await(const std::function<bool()>& done) {
  const absl::Time until = absl::Now() + absl::Seconds(10);
  while (!done()) {
    if (absl::Now() > until) return false;
    turn_();
  }
  return true;
}

bool RawClient::ReceiveAny() {
  absl::StatusOr<Receipt> receipt = Receipt::kNothing;
  Await([&] {
    receipt = ReceivePacket(socket_.get(), &packet_);
    return !receipt.ok() || *receipt != Receipt::kNothing;
  });
  return receipt.ok() && *receipt == Receipt::kPacket;
}

bool RawClient::AwaitClose(std::string* text) {
  absl::StatusOr<Receipt> receipt = Receipt::kNothing;
  return Await([&] {
    receipt = ReceivePacket(socket_.get(), &packet_);
    attach::Closing closing;
    if (receipt.ok() && *receipt == Receipt::kPacket && packet_.As(&closing) &&
        closing.head.type == static_cast<uint32_t>(attach::MessageType::kClosing) && text != nullptr) {
      *text = closing.text;
    }
    return !receipt.ok() || *receipt == Receipt::kClosed;
  });
}

attach::AttachRequest RawClient::Request() {
  auto request = NewMessage<attach::AttachRequest>(attach::MessageType::kAttachRequest, 1);
  request.ring_version = kRingLayoutVersion;
  SetText(request.job, "job");
  return request;
}

attach::AttachReply RawClient::Attach(const attach::AttachRequest& request) {
  auto none = NewMessage<attach::AttachReply>(attach::MessageType::kAttachReply, 0);
  none.status = 1;
  if (!Send(request)) return none;
  const auto reply = Receive<attach::AttachReply>(attach::MessageType::kAttachReply);
  if (!reply.has_value()) return none;
  if (reply->status != 0) return *reply;
  if (packet_.descriptors.size() != 3) return none;
  geometry_ = ring::Lay(reply->dq_entries, reply->eq_entries, reply->data_bytes);
  dq_entries_ = reply->dq_entries;
  eq_entries_ = reply->eq_entries;
  absl::StatusOr<Mapping> port = Mapping::Map(packet_.descriptors[0].get(), geometry_.total_bytes);
  void* const page = mmap(nullptr, ring::kPageBytes, PROT_READ, MAP_SHARED, packet_.descriptors[1].get(), 0);
  if (!port.ok() || page == MAP_FAILED) return none;
  port_ = *std::move(port);
  page_ = static_cast<const ring::DaemonPage*>(page);
  doorbell_ = std::move(packet_.descriptors[2]);
  return *reply;
}

void RawClient::AskTeam(uint64_t request, const std::string& name, uint32_t rank, uint32_t size, double timeout_s) {
  auto create = NewMessage<attach::TeamCreate>(attach::MessageType::kTeamCreate, request);
  create.rank = rank;
  create.size = size;
  create.timeout_s = timeout_s;
  SetText(create.name, name);
  Send(create);
}

attach::TeamReady RawClient::AwaitTeam() {
  const auto ready = Receive<attach::TeamReady>(attach::MessageType::kTeamReady);
  return ready.has_value() ? *ready : attach::TeamReady{};
}

void RawClient::Post(const ring::DqSlot& slot) {
  memcpy(port_.data() + geometry_.dq_offset + dq_tail_ % dq_entries_ * sizeof(slot), &slot, sizeof(slot));
  header()->dq_tail.store(++dq_tail_, std::memory_order_seq_cst);
  if (page_->sleeping.load(std::memory_order_seq_cst) != 0) {
    const uint64_t one = 1;
    if (write(doorbell_.get(), &one, sizeof(one)) < 0) return;  // rung already
  }
}

void RawClient::PostNop(uint64_t value) {
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kNop);
  slot.entry.value = value;
  Post(slot);
}

std::optional<ring::EqEntry> RawClient::TryEvent() {
  if (header()->eq_tail.load(std::memory_order_acquire) == eq_head_) return std::nullopt;
  ring::EqEntry event;
  memcpy(&event, port_.data() + geometry_.eq_offset + eq_head_ % eq_entries_ * sizeof(event), sizeof(event));
  header()->eq_head.store(++eq_head_, std::memory_order_release);
  return event;
}

std::optional<ring::EqEntry> RawClient::AwaitEvent() {
  std::optional<ring::EqEntry> event;
  Await([&] {
    event = TryEvent();
    return event.has_value();
  });
  return event;
}

std::string RawClient::Text(const ring::EqEntry& event) const {
  if (event.text >= ring::kTextCount) return "";
  return reinterpret_cast<const char*>(port_.data() + geometry_.text_offset + event.text * ring::kTextBytes);
}

ring::DqSlot AllreduceSlot(uint32_t team, uint64_t count, uint64_t value) {
  ring::DqSlot slot{};
  slot.entry.command = static_cast<uint8_t>(ring::Command::kCollective);
  slot.entry.collective = static_cast<uint8_t>(Collective::kAllreduce);
  slot.entry.type = static_cast<uint8_t>(ElementType::kUint64);
  slot.entry.op = static_cast<uint8_t>(ElementOp::kSum);
  slot.entry.team = team;
  slot.entry.count = count;
  slot.entry.value = value;
  return slot;
}

}  // namespace copse::daemon
