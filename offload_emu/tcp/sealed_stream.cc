// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/sealed_stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "offload_emu/packet.h"

namespace copse::emu {
namespace {

constexpr size_t kPayloadBytesMax = kFrameBytesMax;
// A peer that has not proved its identity may send at most this much.
constexpr size_t kHandshakeBytesMax = 64 * 1024;
// One stream does not keep the others waiting for more than this many reads.
constexpr int kReadsMax = 4;
// What is left of a message is moved if there is less room behind it than this, so that a read brings some messages.
constexpr size_t kRoomMin = ReadBuffer::kBytes / 2;

}  // namespace

SealedStream::SealedStream(UniqueFd fd, State state, std::shared_ptr<const TlsIdentity> identity, bool is_server)
    : fd_(std::move(fd)), state_(state), handshake_(std::make_unique<TlsHandshake>(std::move(identity), is_server)) {
  const int on = 1;
  setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

std::unique_ptr<SealedStream> SealedStream::Dial(const SocketAddress& address,
                                                 std::shared_ptr<const TlsIdentity> identity) {
  absl::StatusOr<UniqueFd> fd = address.Connect();
  std::unique_ptr<SealedStream> stream(
      new SealedStream(fd.ok() ? *std::move(fd) : UniqueFd(), State::kConnecting, std::move(identity), false));
  if (!stream->fd_.valid()) stream->Close(fd.status());
  return stream;
}

std::unique_ptr<SealedStream> SealedStream::Accept(UniqueFd fd, std::shared_ptr<const TlsIdentity> identity) {
  return std::unique_ptr<SealedStream>(new SealedStream(std::move(fd), State::kHandshake, std::move(identity), true));
}

void SealedStream::Close(const absl::Status& why) {
  if (closed()) return;
  state_ = State::kClosed;
  why_ = why;
  fd_.reset();
  out_.Clear();
  ForgetUnread();
}

void SealedStream::Advance() {
  if (state_ == State::kConnecting) {
    int error = 0;
    socklen_t bytes = sizeof(error);
    getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    if (error != 0) {
      was_refused_ = error == ECONNREFUSED;
      return Close(absl::UnavailableError(absl::StrCat("connect: ", std::strerror(error))));
    }
    sockaddr_storage peer;
    bytes = sizeof(peer);
    if (getpeername(fd_.get(), reinterpret_cast<sockaddr*>(&peer), &bytes) != 0) return;  // not connected yet
    state_ = State::kHandshake;
  }
  if (state_ == State::kHandshake) Handshake();
}

void SealedStream::Handshake() {
  uint8_t input[4096];
  absl::Status failed;
  while (failed.ok() && !handshake_->done()) {
    const ssize_t bytes = recv(fd_.get(), input, sizeof(input), 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) break;
    if (bytes <= 0) {
      failed =
          absl::UnavailableError(absl::StrCat("handshake: ", bytes == 0 ? "closed by the peer" : std::strerror(errno)));
      break;
    }
    kept_.insert(kept_.end(), input, input + bytes);
    const absl::StatusOr<size_t> taken = handshake_->Take(kept_);
    failed = taken.status();
    if (taken.ok()) kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(*taken));
    if (taken.ok() && !handshake_->done() && kept_.size() > kHandshakeBytesMax) {
      failed = absl::InvalidArgumentError(
          absl::StrCat("handshake: too long (bytes=", kept_.size(), ", limit=", kHandshakeBytesMax, ")"));
    }
  }
  const std::string output = handshake_->TakeOutput();
  if (!output.empty()) std::memcpy(out_.Append(output.size()), output.data(), output.size());
  Write();
  if (!failed.ok()) return Close(failed);
  if (!closed() && handshake_->done()) BeginFrames();
}

void SealedStream::BeginFrames() {
  peer_ = handshake_->peer();
  peer_chain_ = handshake_->peer_chain();
  sealer_.emplace(handshake_->SendKey());
  opener_.emplace(handshake_->ReceiveKey());
  state_ = State::kOpen;
}

// Appends the sealed header of a message with so much payload, and room for `more_bytes`, which is returned.
uint8_t* SealedStream::AppendHeader(WireHeader header, size_t payload_bytes, size_t more_bytes) {
  CHECK(is_open());
  header.version = kWireVersion;
  header.bytes = static_cast<uint32_t>(payload_bytes);
  uint8_t* const place = out_.Append(kSealedHeaderBytes + more_bytes);
  sealer_->Seal(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&header), sizeof(header)), place,
                place + sizeof(header));
  return place + kSealedHeaderBytes;
}

void SealedStream::Put(WireHeader header, absl::Span<const uint8_t> payload, bool encrypt) {
  header.flags = encrypt ? kWireEncrypted : 0;
  const size_t bytes = payload.size();
  uint8_t* const place = AppendHeader(header, bytes, bytes > 0 ? bytes + kTagBytes : 0);
  if (bytes == 0) return;
  if (encrypt) {
    sealer_->Seal(payload, place, place + bytes);
  } else {
    std::memcpy(place, payload.data(), bytes);
    sealer_->Sign(payload, place + bytes);
  }
}

void SealedStream::PutLent(WireHeader header, absl::Span<const uint8_t> payload, const PlainSum& sum) {
  CHECK(!payload.empty());
  header.flags = 0;
  AppendHeader(header, payload.size(), 0);
  out_.AppendLent(payload);
  sealer_->Sign(payload, out_.Append(kTagBytes), sum);
}

void SealedStream::Write() {
  if (closed()) return;
  const absl::Status written = out_.WriteTo(fd_.get());
  if (!written.ok()) Close(written);
}

bool SealedStream::OpenHeader(absl::Span<uint8_t> input) {
  WireHeader header;
  // A server's refusal is no sealed message, and Open overwrites it.
  std::vector<uint8_t> first;
  if (handshake_ != nullptr) first.assign(input.begin(), input.end());
  if (!opener_->Open(input.subspan(0, sizeof(header)), input.data() + sizeof(header))) {
    const absl::Status refusal = handshake_ == nullptr ? absl::OkStatus() : handshake_->RefusalIn(first);
    Close(refusal.ok() ? absl::UnavailableError("a header was damaged on its way, or forged") : refusal);
    return false;
  }
  handshake_ = nullptr;
  std::memcpy(&header, input.data(), sizeof(header));
  if (header.version != kWireVersion || header.bytes > kPayloadBytesMax) {
    Close(absl::UnavailableError(absl::StrCat("the peer's message does not fit (version=", header.version,
                                              ", bytes=", header.bytes, ", limit=", kPayloadBytesMax, ")")));
    return false;
  }
  header_ = header;
  return true;
}

bool SealedStream::OpenPayload(absl::Span<uint8_t> payload, const uint8_t* tag) {
  const bool opens =
      (header_->flags & kWireEncrypted) != 0 ? opener_->Open(payload, tag) : opener_->Verify(payload, tag);
  if (!opens) Close(absl::UnavailableError("a message was damaged on its way, or forged"));
  return opens;
}

size_t SealedStream::TakeMessages(absl::Span<uint8_t> input, Taker take) {
  size_t consumed = 0;
  for (bool goes_on = true; goes_on && !closed();) {
    const absl::Span<uint8_t> left = input.subspan(consumed);
    if (!header_.has_value()) {
      // A refusal by TLS is shorter than a header.
      if (left.size() < kSealedHeaderBytes) break;
      if (!OpenHeader(left)) break;
      consumed += kSealedHeaderBytes;
      continue;
    }
    const size_t bytes = header_->bytes;
    const size_t sealed = bytes > 0 ? bytes + kTagBytes : 0;
    if (left.size() < sealed) break;
    if (bytes > 0 && !OpenPayload(left.subspan(0, bytes), left.data() + bytes)) break;
    consumed += sealed;
    const WireHeader header = *std::exchange(header_, std::nullopt);
    goes_on = take(header, left.subspan(0, bytes));
  }
  return consumed;
}

bool SealedStream::Read(ReadBuffer* buffer, Taker take) {
  bool any = false;
  bool goes_on = true;
  const auto take_some = [&](const WireHeader& header, absl::Span<const uint8_t> payload) {
    any = true;
    goes_on = take(header, payload);
    return goes_on;
  };
  Hold(buffer);
  // A taker that has stopped left whole messages.
  TakeUnread(take_some);
  for (int reads = 0; reads < kReadsMax && goes_on && !closed(); ++reads) {
    const absl::Span<uint8_t> room = MakeRoom();
    const ssize_t bytes = recv(fd_.get(), room.data(), room.size(), 0);
    const int error = errno;
    if (bytes > 0) held_unread_ = {held_unread_.data(), held_unread_.size() + static_cast<size_t>(bytes)};
    TakeUnread(take_some);
    if (bytes == 0 || (bytes < 0 && error != EAGAIN && error != EINTR)) EndOfInput(bytes == 0 ? 0 : error);
    if (bytes < static_cast<ssize_t>(room.size())) break;
  }
  if (unread().empty()) ForgetUnread();
  return any;
}

void SealedStream::Hold(ReadBuffer* buffer) {
  if (closed() || buffer->holder == this) return;
  if (buffer->holder != nullptr) buffer->holder->LeaveBuffer();
  buffer->holder = this;
  held_ = buffer;
  std::copy(kept_.begin(), kept_.end(), buffer->memory.get());
  held_unread_ = {buffer->memory.get(), kept_.size()};
  ClearAndShrink(&kept_);
}

void SealedStream::LeaveBuffer() {
  kept_.assign(held_unread_.begin(), held_unread_.end());
  held_->holder = nullptr;
  held_ = nullptr;
}

void SealedStream::ForgetUnread() {
  if (held_ != nullptr) held_->holder = nullptr;
  held_ = nullptr;
  ClearAndShrink(&kept_);
}

void SealedStream::TakeUnread(Taker take) {
  const size_t consumed = TakeMessages(held_unread_, take);
  if (!closed()) held_unread_.remove_prefix(consumed);
}

absl::Span<uint8_t> SealedStream::MakeRoom() {
  uint8_t* const begin = held_->memory.get();
  uint8_t* const end = begin + ReadBuffer::kBytes;
  const auto room = [&] { return absl::MakeSpan(held_unread_.data() + held_unread_.size(), end); };
  if (held_unread_.empty() || room().size() < kRoomMin) {
    std::memmove(begin, held_unread_.data(), held_unread_.size());
    held_unread_ = {begin, held_unread_.size()};
  }
  return room();
}

void SealedStream::EndOfInput(int error) {
  if (closed()) return;
  if (handshake_ != nullptr) {
    const absl::Status refusal = handshake_->RefusalIn(unread());
    if (!refusal.ok()) return Close(refusal);
  }
  Close(absl::UnavailableError(absl::StrCat("recv: ", error == 0 ? "closed by the peer" : std::strerror(error))));
}

}  // namespace copse::emu
