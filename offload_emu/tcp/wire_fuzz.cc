// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes a daemon's data port: as strangers without a certificate, and as a peer that has one and says what it likes.
// An input is a sequence of steps; a byte tells which, and bytes that follow belong to it.
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/check.h"
#include "base/testing/fake_clock.h"
#include "base/unique_fd.h"
#include "offload_emu/packet.h"
#include "offload_emu/tcp/sealed_stream.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/tcp_transport.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/tcp/tls_identity.h"
#include "offload_emu/tcp/wire_format.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

using emu::LaneKind;
using emu::WireHeader;
using emu::WireHello;
using emu::WireKind;

constexpr int kStepsMax = 64;
constexpr int kConnectionsMax = 4;
// A handshake takes longer than all other steps together, so an input makes few: without a bound, the corpus drifts to
// inputs of many handshakes, which find nothing new in frames.
constexpr int kDialsMax = 4;
// The daemon has the higher number, and so waits for its peer to connect.
constexpr Incarnation kDaemon(9), kPeer(3);

enum Step : uint8_t {
  kDial,      // a connection of the peer's: its handshake is right
  kHello,     // which connection, source, destination, session, the daemon's session, lane
  kMessage,   // which connection, header, payload: sealed as it should be
  kRaw,       // which connection, bytes
  kStranger,  // bytes: a connection without a handshake
  kSend,      // length: the daemon sends a frame
  kWait,      // eighths of a second
  kSteps,
};

class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() { return bytes_.empty() ? 0 : static_cast<uint8_t>(Take(1)[0]); }
  // Returns up to 255 bytes.
  std::string_view Some() { return Take(Byte()); }
  template <typename Struct>
  Struct Get() {
    Struct filled{};
    const std::string_view bytes = Take(sizeof(filled));
    std::memcpy(&filled, bytes.data(), bytes.size());
    return filled;
  }

 private:
  std::string_view Take(size_t count) {
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view bytes_;
};

// All frames that are delivered are the peer's.
class PeersFrames final : public emu::TransportSink {
 public:
  void OnFrame(absl::Span<const uint8_t> frame) override {
    emu::FrameHeader header;
    CHECK_GE(frame.size(), sizeof(header));
    std::memcpy(&header, frame.data(), sizeof(header));
    CHECK_EQ(header.source_incarnation, kPeer.value());
  }
  void OnPeerDown(Incarnation peer, const absl::Status& why) override {
    CHECK(peer == kPeer && !why.ok());
    is_down_ = true;
  }
  bool is_down_ = false;
};

// It takes longer to make than all that one input does.
const std::shared_ptr<const emu::TlsIdentity>& SharedIdentity() {
  static const auto& identity = *new std::shared_ptr<const emu::TlsIdentity>([] {
    const emu::TestAuthority authority;
    const emu::TestCertificate issued = authority.IssueNode("n1");
    return *emu::TlsIdentity::FromCertificates(issued.certificate, issued.key, authority.certificate());
  }());
  return identity;
}

class DataPort {
 public:
  DataPort() {
    emu::TcpTransportOptions options;
    options.self = kDaemon;
    options.identity = SharedIdentity();
    transport_ = *emu::TcpTransport::Create(&clock_, options);
    const std::string address = transport_->LocalAddress();
    address_ = std::make_unique<emu::SocketAddress>(
        *emu::SocketAddress::Parse(std::string(absl::StripPrefix(address, "tcp1:"))));
    ConnectPeer();
  }

  void Take(Step step, Input* input) {
    switch (step) {
      case kDial:
        return Dial();
      case kHello:
        return SayHello(input);
      case kMessage:
        return Say(input);
      case kRaw: {
        emu::SealedStream* const stream = Chosen(input);
        const std::string_view bytes = input->Some();
        if (stream != nullptr) SendRaw(stream->fd(), bytes);
        return;
      }
      case kStranger: {
        const absl::StatusOr<UniqueFd> fd = address_->Connect();
        if (!fd.ok()) return;
        SendRaw(fd->get(), input->Some());
        return Progress();
      }
      case kSend: {
        const std::vector<uint8_t> frame(std::min<size_t>(size_t{input->Byte()} * 256, emu::kFrameBytesMax));
        (void)transport_->Send(kPeer, frame, {});
        return;
      }
      case kWait:
        return clock_.Advance(absl::Seconds(input->Byte()) / 8);
      case kSteps:
        return;
    }
  }
  void Progress() {
    for (int i = 0; i < 2; ++i) transport_->Progress(&sink_);
    // The peer stays connected whatever it says: its next connection is its next chance.
    if (std::exchange(sink_.is_down_, false)) ConnectPeer();
    for (const auto& stream : streams_) {
      if (!stream->is_open()) continue;
      stream->Read(&buffer_, [](const WireHeader&, absl::Span<const uint8_t>) { return true; });
    }
    std::erase_if(streams_, [](const auto& stream) { return stream->closed(); });
  }

 private:
  // Nobody listens there.
  void ConnectPeer() { CHECK(transport_->Connect({kPeer, "tcp1:127.0.0.1:1"}).ok()); }

  void Dial() {
    if (++dials_ > kDialsMax) return;
    if (streams_.size() >= kConnectionsMax) streams_.erase(streams_.begin());
    const auto& stream = streams_.emplace_back(emu::SealedStream::Dial(*address_, SharedIdentity()));
    for (int i = 0; i < 100 && !stream->is_open() && !stream->closed(); ++i) {
      stream->Advance();
      transport_->Progress(&sink_);
    }
  }
  emu::SealedStream* Chosen(Input* input) {
    const uint8_t which = input->Byte();
    if (streams_.empty()) return nullptr;
    emu::SealedStream* const stream = streams_[which % streams_.size()].get();
    return stream->is_open() ? stream : nullptr;
  }
  void Put(emu::SealedStream* stream, const WireHeader& header, std::string_view payload) {
    if (stream == nullptr) return;
    stream->Put(header, absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(payload.data()), payload.size()),
                (header.flags & emu::kWireEncrypted) != 0);
    stream->Write();
  }
  void SayHello(Input* input) {
    emu::SealedStream* const stream = Chosen(input);
    const WireHello hello{
        .source = input->Byte(), .destination = input->Byte(), .session = input->Byte(), .peer_session = input->Byte()};
    WireHeader header{};
    header.kind = static_cast<uint8_t>(WireKind::kHello);
    header.lane = input->Byte();
    Put(stream, header, std::string_view(reinterpret_cast<const char*>(&hello), sizeof(hello)));
  }
  void Say(Input* input) {
    emu::SealedStream* const stream = Chosen(input);
    const WireHeader header = input->Get<WireHeader>();
    Put(stream, header, input->Some());
  }
  static void SendRaw(int fd, std::string_view bytes) {
    (void)!send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }

  FakeClock clock_{absl::UnixEpoch() + absl::Hours(1)};
  std::unique_ptr<emu::TcpTransport> transport_;
  std::unique_ptr<emu::SocketAddress> address_;
  PeersFrames sink_;
  int dials_ = 0;
  std::vector<std::unique_ptr<emu::SealedStream>> streams_;
  emu::ReadBuffer buffer_;
};

template <typename Struct>
std::string BytesOf(const Struct& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string Message(uint8_t connection, WireKind kind, LaneKind lane, uint64_t number, uint64_t received,
                    const std::string& payload) {
  WireHeader header{};
  header.kind = static_cast<uint8_t>(kind);
  header.lane = static_cast<uint8_t>(lane);
  header.number = number;
  header.received = received;
  return std::string{static_cast<char>(kMessage), static_cast<char>(connection)} + BytesOf(header) +
         static_cast<char>(payload.size()) + payload;
}

}  // namespace

std::vector<std::string> Seeds() {
  emu::FrameHeader frame{};
  frame.source_incarnation = kPeer.value();
  frame.destination_incarnation = kDaemon.value();
  const std::string payload = BytesOf(frame) + "12345678";
  // Connection, source, destination, session, the daemon's session (unknown), lane.
  const auto hello = [](char connection, LaneKind lane) {
    return std::string{kDial, kHello, connection, 3, 9, 7, 0, static_cast<char>(lane)};
  };
  const std::string both = hello(0, LaneKind::kShort) + hello(1, LaneKind::kBulk);
  const std::string frames = Message(0, WireKind::kFrame, LaneKind::kShort, 1, 0, payload) +
                             Message(0, WireKind::kFrame, LaneKind::kShort, 2, 0, payload) +
                             Message(1, WireKind::kFrame, LaneKind::kBulk, 1, 0, payload);
  const std::string sent = std::string{kSend, 1, kSend, 100} + Message(0, WireKind::kAck, LaneKind::kShort, 0, 1, "") +
                           Message(1, WireKind::kAck, LaneKind::kBulk, 0, 1, "");
  return {
      both + frames + sent,
      both + sent + Message(0, WireKind::kBye, LaneKind::kShort, 0, 0, ""),
      both + sent + std::string{kWait, 8} + both + frames,
      both + std::string{kRaw, 0, 4, 'a', 'b', 'c', 'd'},
      std::string{kStranger, 5, 0x16, 0x03, 0x01, 0x00, 0x05} + both,
      std::string{kDial, kWait, 100} + hello(0, LaneKind::kShort),
  };
}

void OneInput(std::string_view bytes) {
  Input input(bytes);
  DataPort port;
  for (int step = 0; step < kStepsMax && !input.empty(); ++step) {
    port.Take(static_cast<Step>(input.Byte() % kSteps), &input);
    port.Progress();
  }
}

}  // namespace copse::fuzzing
