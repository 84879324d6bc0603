// SPDX-License-Identifier: Apache-2.0
//
// Tests what a stream takes from a peer that has the connection's keys, and from whatever is between the two.
#include "offload_emu/tcp/sealed_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/unique_fd.h"
#include "offload_emu/packet.h"
#include "offload_emu/tcp/frame_cipher.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/tcp/tls_handshake.h"
#include "offload_emu/tcp/tls_identity.h"

namespace {

size_t largest_allocation = 0;

void* Allocate(size_t bytes) {
  largest_allocation = std::max(largest_allocation, bytes);
  return std::malloc(bytes);
}

}  // namespace

void* operator new(size_t bytes) { return Allocate(bytes); }
void* operator new[](size_t bytes) { return Allocate(bytes); }
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, size_t) noexcept { std::free(pointer); }

namespace copse::emu {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kSealedHeaderBytes = sizeof(WireHeader) + kTagBytes;
constexpr uint64_t kNumber = 7;

std::shared_ptr<const TlsIdentity> IdentityOf(const std::string& node) {
  static const auto* authority = new TestAuthority;
  const TestCertificate issued = authority->IssueNode(node);
  return *TlsIdentity::FromCertificates(issued.certificate, issued.key, authority->certificate(), "");
}

WireHeader HeaderOf(size_t bytes, bool encrypts) {
  return {.version = kWireVersion,
          .kind = static_cast<uint8_t>(WireKind::kFrame),
          .flags = static_cast<uint8_t>(encrypts ? kWireEncrypted : 0),
          .bytes = static_cast<uint32_t>(bytes),
          .number = kNumber};
}

// A Connection has a stream at one end. The test is at the other one, with the keys, and seals what it likes.
class Connection {
 public:
  Connection() {
    static const auto client_identity = IdentityOf("n1"), server_identity = IdentityOf("n2");
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
    test_ = UniqueFd(ends[0]);
    stream_ = SealedStream::Accept(UniqueFd(ends[1]), server_identity);
    TlsHandshake client(client_identity, /*is_server=*/false);
    Bytes arrived;
    while (!stream_->is_open()) {
      const std::string output = client.TakeOutput();
      Send({output.begin(), output.end()});
      stream_->Advance();
      CHECK(!stream_->closed());
      uint8_t input[4096];
      const ssize_t bytes = recv(test_.get(), input, sizeof(input), 0);
      if (bytes <= 0) continue;
      arrived.insert(arrived.end(), input, input + bytes);
      const absl::StatusOr<size_t> taken = client.Take(arrived);
      CHECK(taken.ok());
      arrived.erase(arrived.begin(), arrived.begin() + static_cast<std::ptrdiff_t>(*taken));
    }
    sealer_.emplace(client.SendKey());
  }

  // Returns a header as it is sent: sealed, with its tag.
  Bytes Header(const WireHeader& header) {
    Bytes sealed(kSealedHeaderBytes);
    sealer_->Seal({reinterpret_cast<const uint8_t*>(&header), sizeof(header)}, sealed.data(),
                  sealed.data() + sizeof(header));
    return sealed;
  }
  // Returns a payload as it is sent: encrypted or signed, with its tag.
  Bytes Payload(const Bytes& payload, bool encrypts) {
    Bytes sealed = payload;
    sealed.resize(payload.size() + kTagBytes);
    uint8_t* const tag = sealed.data() + payload.size();
    if (encrypts) {
      sealer_->Seal(payload, sealed.data(), tag);
    } else {
      sealer_->Sign(payload, tag);
    }
    return sealed;
  }
  // Returns a message as it is sent.
  Bytes Message(const Bytes& payload, bool encrypts) {
    Bytes sealed = Header(HeaderOf(payload.size(), encrypts));
    const Bytes behind = Payload(payload, encrypts);
    sealed.insert(sealed.end(), behind.begin(), behind.end());
    return sealed;
  }

  void Send(const Bytes& bytes) {
    CHECK(send(test_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size()));
  }
  void EndOutput() { CHECK(shutdown(test_.get(), SHUT_WR) == 0); }
  bool closed() const { return stream_->closed(); }
  const absl::Status& why() const { return stream_->why(); }
  // Reads what was sent, and returns the payloads that the stream has taken so far.
  const std::vector<Bytes>& Read() {
    stream_->Read(&buffer_, [&](const WireHeader& header, absl::Span<const uint8_t> payload) {
      EXPECT_EQ(header.number, kNumber);
      taken_.emplace_back(payload.begin(), payload.end());
      return true;
    });
    return taken_;
  }

 private:
  ReadBuffer buffer_;  // outlives the stream
  std::unique_ptr<SealedStream> stream_;
  UniqueFd test_;
  std::optional<FrameCipher> sealer_;
  std::vector<Bytes> taken_;
};

Bytes PayloadOf(size_t bytes) {
  Bytes payload(bytes);
  for (size_t i = 0; i < bytes; ++i) payload[i] = static_cast<uint8_t>(3 * i + bytes);
  return payload;
}

class SealedStreamTest : public testing::TestWithParam<bool> {
 protected:
  Bytes Message(Connection* connection, size_t bytes) { return connection->Message(PayloadOf(bytes), GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(SignedAndEncrypted, SealedStreamTest, testing::Bool());

TEST_P(SealedStreamTest, TakesMessagesHoweverTheyArrive) {
  for (const size_t part : {size_t{1}, size_t{47}, size_t{100}, size_t{1} << 20}) {
    Connection connection;
    Bytes sent;
    for (const size_t bytes : {24, 1, 300}) {
      const Bytes message = Message(&connection, bytes);
      sent.insert(sent.end(), message.begin(), message.end());
    }
    for (size_t at = 0; at < sent.size(); at += part) {
      connection.Send({sent.begin() + static_cast<std::ptrdiff_t>(at),
                       sent.begin() + static_cast<std::ptrdiff_t>(std::min(at + part, sent.size()))});
      connection.Read();
    }
    EXPECT_EQ(connection.Read(), (std::vector<Bytes>{PayloadOf(24), PayloadOf(1), PayloadOf(300)})) << part;
    EXPECT_FALSE(connection.closed());
  }
}

TEST_P(SealedStreamTest, AFlippedBitOfAnyByteEndsIt) {
  constexpr size_t kPayloadBytes = 24;
  // The first message of a connection may be a refusal by TLS instead; later ones may not.
  for (const bool is_first : {true, false}) {
    for (size_t byte = 0; byte < kSealedHeaderBytes + kPayloadBytes + kTagBytes; ++byte) {
      Connection connection;
      if (!is_first) connection.Send(Message(&connection, 10));
      Bytes changed = Message(&connection, kPayloadBytes);
      changed[byte] ^= static_cast<uint8_t>(1 << byte % 8);
      connection.Send(changed);
      connection.Send(Message(&connection, 30));
      EXPECT_EQ(connection.Read().size(), is_first ? 0u : 1u) << byte;
      EXPECT_TRUE(connection.closed()) << byte;
      EXPECT_TRUE(is_first || absl::IsUnavailable(connection.why())) << byte;
    }
  }
}

TEST_P(SealedStreamTest, WhatEndsEarlyIsNotTaken) {
  constexpr size_t kPayloadBytes = 24;
  for (const size_t bytes : {size_t{0}, size_t{1}, kSealedHeaderBytes - 1, kSealedHeaderBytes, kSealedHeaderBytes + 1,
                             kSealedHeaderBytes + kPayloadBytes, kSealedHeaderBytes + kPayloadBytes + kTagBytes - 1}) {
    Connection connection;
    Bytes message = Message(&connection, kPayloadBytes);
    message.resize(bytes);
    connection.Send(message);
    EXPECT_TRUE(connection.Read().empty()) << bytes;
    EXPECT_FALSE(connection.closed()) << bytes;
    connection.EndOutput();
    EXPECT_TRUE(connection.Read().empty()) << bytes;
    EXPECT_TRUE(connection.closed()) << bytes;
  }
}

TEST_P(SealedStreamTest, ARepeatedMessageEndsIt) {
  Connection connection;
  const Bytes message = Message(&connection, 24);
  connection.Send(message);
  connection.Send(message);
  EXPECT_EQ(connection.Read().size(), 1u);
  EXPECT_TRUE(connection.closed());
}

TEST_P(SealedStreamTest, AMissingOrEarlyMessageEndsIt) {
  Connection connection;
  const Bytes first = Message(&connection, 24), second = Message(&connection, 24);
  connection.Send(second);
  connection.Send(first);
  EXPECT_TRUE(connection.Read().empty());
  EXPECT_TRUE(connection.closed());
}

TEST_P(SealedStreamTest, PartsOfTwoMessagesAreNoMessage) {
  Connection connection;
  const Bytes first = Message(&connection, 24), second = Message(&connection, 24);
  const auto payload = static_cast<std::ptrdiff_t>(kSealedHeaderBytes);
  connection.Send({first.begin(), first.begin() + payload});
  connection.Send({second.begin() + payload, second.end()});
  EXPECT_TRUE(connection.Read().empty());
  EXPECT_TRUE(connection.closed());
}

TEST_P(SealedStreamTest, APayloadIsWhatItsHeaderSays) {
  for (const WireHeader& header : {HeaderOf(23, GetParam()), HeaderOf(24, !GetParam())}) {
    Connection connection;
    connection.Send(connection.Header(header));
    connection.Send(connection.Payload(PayloadOf(24), GetParam()));
    EXPECT_TRUE(connection.Read().empty()) << header.bytes;
    EXPECT_TRUE(connection.closed()) << header.bytes;
  }
}

TEST(SealedStreamHeaderTest, TheLongestPayloadIsTaken) {
  Connection connection;
  connection.Send(connection.Message(PayloadOf(kFrameBytesMax), false));
  EXPECT_EQ(connection.Read(), std::vector<Bytes>{PayloadOf(kFrameBytesMax)});
}

// The peer has the keys: nothing but the header's fields is wrong.
TEST(SealedStreamHeaderTest, AHeaderThatDoesNotFitEndsItBeforeItsPayload) {
  for (const auto& [version, bytes] : std::vector<std::pair<uint8_t, uint32_t>>{{0, 24},
                                                                                {kWireVersion + 1, 24},
                                                                                {255, 24},
                                                                                {kWireVersion, kFrameBytesMax + 1},
                                                                                {kWireVersion, uint32_t{1} << 31},
                                                                                {kWireVersion, UINT32_MAX}}) {
    Connection connection;
    connection.Send(connection.Header({.version = version, .bytes = bytes}));
    largest_allocation = 0;
    EXPECT_TRUE(connection.Read().empty());
    EXPECT_LE(largest_allocation, kSealedHeaderBytes + kFrameBytesMax + kTagBytes) << bytes;
    EXPECT_TRUE(connection.closed());
    const std::string why(connection.why().message());
    EXPECT_TRUE(absl::StrContains(why, absl::StrCat("version=", version, ", bytes=", bytes))) << why;
  }
}

}  // namespace
}  // namespace copse::emu
