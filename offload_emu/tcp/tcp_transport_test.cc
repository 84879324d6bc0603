// SPDX-License-Identifier: Apache-2.0
//
// Tests two or more transports in one process, over loopback, and what disturbs their connections.
#include "offload_emu/tcp/tcp_transport.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/prng.h"
#include "base/process/lost_memory.h"
#include "base/testing/descriptor_limit.h"
#include "base/testing/mapping_beyond_end.h"
#include "offload_emu/packet.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/stranger_budget.h"
#include "offload_emu/tcp/testing/relay.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/testing/transport_end.h"

namespace copse::emu {
namespace {

const Incarnation kA(11);
const Incarnation kB(22);

// A frame of the sender `from`, whose bytes follow from `number`.
std::vector<uint8_t> FrameOf(Incarnation from, uint32_t number, size_t bytes) {
  std::vector<uint8_t> frame(std::max(bytes, sizeof(FrameHeader) + sizeof(number)));
  for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(number * 31 + i);
  FrameHeader header{};
  header.source_incarnation = from.value();
  std::memcpy(frame.data(), &header, sizeof(header));
  std::memcpy(frame.data() + sizeof(header), &number, sizeof(number));
  return frame;
}

size_t NumberInEnvironment(const char* name, size_t usual) {
  const char* const text = getenv(name);
  return text == nullptr ? usual : std::stoul(text);
}

uint32_t NumberOf(const std::vector<uint8_t>& frame) {
  uint32_t number;
  std::memcpy(&number, frame.data() + sizeof(FrameHeader), sizeof(number));
  return number;
}

const TestAuthority& Authority() {
  static const auto* authority = new TestAuthority;
  return *authority;
}

std::shared_ptr<const TlsIdentity> IdentityOf(const TestAuthority& authority, const std::string& node) {
  const TestCertificate issued = authority.IssueNode(node);
  return *TlsIdentity::FromCertificates(issued.certificate, issued.key, Authority().certificate());
}

// One transport, and what it has received.
struct Side : TransportEnd {
  explicit Side(Incarnation self, TcpTransportOptions options = {}) : incarnation(self) {
    options.self = self;
    if (options.identity == nullptr) options.identity = IdentityOf(Authority(), NodeOf(self));
    auto created = TcpTransport::Create(RealTime(), options);
    EXPECT_TRUE(created.ok()) << created.status();
    transport = *std::move(created);
  }
  static const Clock* RealTime() {
    static const auto* clock = new MonotonicClock;
    return clock;
  }
  static std::string NodeOf(Incarnation incarnation) { return "n" + std::to_string(incarnation.value()); }
  PeerAddress Address() const { return {incarnation, transport->LocalAddress(), NodeOf(incarnation)}; }
  SocketAddress Socket() const { return *SocketAddress::Parse(transport->LocalAddress().substr(strlen("tcp1:"))); }
  TcpTransport* operator->() { return transport.get(); }
  PolledTransport* polled() const override { return transport.get(); }

  const Incarnation incarnation;
  std::unique_ptr<TcpTransport> transport;
};

// Returns the traffic classes of this process's TCP connections.
std::set<int> TrafficClasses() {
  std::set<int> classes;
  for (int fd = 0; fd < 1024; ++fd) {
    sockaddr_storage peer;
    socklen_t bytes = sizeof(peer);
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) != 0 || peer.ss_family != AF_INET) continue;
    int traffic_class = 0;
    bytes = sizeof(traffic_class);
    if (getsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class, &bytes) == 0) classes.insert(traffic_class);
  }
  return classes;
}

// Sends frames both ways, all numbers below `count`, as fast as the transports take them.
class Traffic {
 public:
  Traffic(Side* a, Side* b, uint32_t count) : a_(a), b_(b), count_(count) {}

  // Short and long ones, each of many lengths.
  static size_t SizeOf(uint32_t i) { return i % 20 == 0 ? kFrameBytesMax : 40 + (i * 37) % 7000; }
  void Send() {
    SendSome(a_, b_->incarnation, &sent_a_);
    SendSome(b_, a_->incarnation, &sent_b_);
  }
  bool HasArrived() const { return a_->frames.size() >= count_ && b_->frames.size() >= count_; }
  uint32_t exhausted() const { return exhausted_; }
  // Expects each frame once and unchanged.
  void Check() const {
    for (const auto& [side, from] : {std::pair(a_, b_), std::pair(b_, a_)}) {
      ASSERT_EQ(side->frames.size(), count_);
      std::vector<bool> seen(count_);
      for (const std::vector<uint8_t>& frame : side->frames) {
        const uint32_t number = NumberOf(frame);
        ASSERT_LT(number, count_);
        EXPECT_FALSE(seen[number]) << number;
        seen[number] = true;
        EXPECT_EQ(frame, FrameOf(from->incarnation, number, SizeOf(number)));
      }
      EXPECT_TRUE(side->downs.empty());
    }
  }

 private:
  void SendSome(Side* from, Incarnation to, uint32_t* sent) {
    for (; *sent < count_; ++*sent) {
      const std::vector<uint8_t> frame = FrameOf(from->incarnation, *sent, SizeOf(*sent));
      const absl::Status status =
          from->transport->Send(to, absl::MakeConstSpan(frame).first(32), absl::MakeConstSpan(frame).subspan(32));
      if (absl::IsResourceExhausted(status)) {
        ++exhausted_;
        return;
      }
      ASSERT_TRUE(status.ok()) << status;
    }
  }

  Side* const a_;
  Side* const b_;
  const uint32_t count_;
  uint32_t sent_a_ = 0, sent_b_ = 0, exhausted_ = 0;
};

void ConnectBoth(Side* a, Side* b) {
  ASSERT_TRUE(a->transport->Connect(b->Address()).ok());
  ASSERT_TRUE(b->transport->Connect(a->Address()).ok());
}

class TcpTransportsTest : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(SignedAndEncrypted, TcpTransportsTest, testing::Bool());

TEST_P(TcpTransportsTest, ExchangeFramesOfAllSizesBothWays) {
  TcpTransportOptions options;
  options.encrypt = GetParam();
  Side a(kA, options), b(kB, options);
  ConnectBoth(&a, &b);
  ASSERT_TRUE(a->Connect(b.Address()).ok());  // idempotent
  Traffic traffic(&a, &b, 5000);
  ASSERT_TRUE(RunTill({&a, &b}, [&] {
    traffic.Send();
    return traffic.HasArrived();
  }));
  traffic.Check();
  EXPECT_GT(traffic.exhausted(), 0u);  // what is not acknowledged is bounded
  EXPECT_EQ(a->counts().reconnected + b->counts().reconnected, 0u);
}

// What a host between the two can read of short and long frames.
TEST(TcpTransportTest, ANetworkReadsDataThatIsNotEncrypted) {
  const std::string secret = "what the ranks tell each other";
  for (const bool encrypts : {false, true}) {
    Side a(kA, {.encrypt = encrypts}), b(kB, {.encrypt = encrypts});
    Relay to_a(a.Socket(), secret), to_b(b.Socket(), secret);
    ASSERT_TRUE(a->Connect({kB, "tcp1:" + to_b.address(), "n22"}).ok());
    ASSERT_TRUE(b->Connect({kA, "tcp1:" + to_a.address(), "n11"}).ok());
    for (const size_t bytes : {size_t{100}, size_t{kFrameBytesMax}}) {
      std::vector<uint8_t> frame = FrameOf(kA, 1, bytes);
      std::copy(secret.begin(), secret.end(), frame.end() - static_cast<std::ptrdiff_t>(secret.size()));
      ASSERT_TRUE(a->Send(kB, frame, {}).ok());
      const size_t before = b.frames.size();
      ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() > before; }));
      EXPECT_EQ(b.frames.back(), frame);
    }
    EXPECT_EQ(to_a.found() + to_b.found(), encrypts ? 0u : 2u);
    EXPECT_GT(to_a.connections() + to_b.connections(), 0u);
  }
}

TEST(TcpTransportTest, PacketsSayWhetherTheirFramesAreShortOrLong) {
  TcpTransportOptions options;
  options.dscp = {46, 8};
  Side a(kA, options), b(kB, options);
  ConnectBoth(&a, &b);
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 0, 100), {}).ok());
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 1, 10'000), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() == 2; }));
  EXPECT_EQ(TrafficClasses(), (std::set<int>{46 << 2, 8 << 2}));
}

TEST(TcpTransportTest, FramesOfOneLaneArriveInOrder) {
  Side a(kA), b(kB);
  ConnectBoth(&a, &b);
  for (uint32_t i = 0; i < 100; ++i) ASSERT_TRUE(a->Send(kB, FrameOf(kA, i, 100), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() == 100; }));
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(NumberOf(b.frames[i]), i);
}

TEST(TcpTransportTest, AFrameThatIsSentBehindOthersArrivesAfterThem) {
  Side a(kA), b(kB);
  ConnectBoth(&a, &b);
  uint32_t sent = 0;
  for (uint32_t round = 0; round < 10; ++round) {
    for (const size_t bytes : {100, 60000, 60000, 100}) {
      ASSERT_TRUE(a->Send(kB, FrameOf(kA, sent++, bytes), {}).ok());
    }
    ASSERT_TRUE(a->SendBehind(kB, FrameOf(kA, sent++, 100), {}).ok());
  }
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() == sent; }));
  std::set<uint32_t> seen;
  for (const std::vector<uint8_t>& frame : b.frames) {
    const uint32_t number = NumberOf(frame);
    seen.insert(number);
    if (number % 5 != 4) continue;
    for (uint32_t before = 0; before < number; ++before) EXPECT_TRUE(seen.contains(before)) << number;
  }
}

TEST(TcpTransportTest, OffersFramesAndDeliversWhatIsNotTaken) {
  Side a(kA), b(kB);
  b.takes_odd = true;
  ConnectBoth(&a, &b);
  for (uint32_t i = 0; i < 10; ++i) ASSERT_TRUE(a->Send(kB, FrameOf(kA, i, 100 + i), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() + b.taken.size() == 10; }));
  EXPECT_EQ(b.taken.size(), 5u);
}

TEST(TcpTransportTest, NothingIsSentOfMemoryThatIsLost) {
  CatchMemoryFaults();
  MappingBeyondEnd memory(4096, 8192);
  const absl::StatusOr<TrackedMemory> tracked = TrackedMemory::Track(memory.data(), memory.bytes());
  ASSERT_TRUE(tracked.ok());
  Side a(kA), b(kB);
  ConnectBoth(&a, &b);
  EXPECT_EQ(a->Send(kB, FrameOf(kA, 1, 40), absl::MakeConstSpan(memory.data() + 4096, 100)).code(),
            absl::StatusCode::kDataLoss);
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 2, 40), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.frames.empty(); }));
  EXPECT_EQ(NumberOf(b.frames[0]), 2u);
}

TEST(TcpTransportTest, SendsNowhereUnlessConnected) {
  Side a(kA);
  EXPECT_EQ(a->Send(kB, FrameOf(kA, 1, 40), {}).code(), absl::StatusCode::kUnavailable);
  for (const char* address : {"", "tcp1:", "tcp1:host:1", "tcp1:1.2.3.4:70000", "tcp1:[::1:5", "other"}) {
    EXPECT_EQ(a->Connect({kB, address}).code(), absl::StatusCode::kInvalidArgument) << address;
  }
}

TEST(TcpTransportTest, NobodyCanConnectBeforeThisSideDoes) {
  Side a(kA);
  const std::string address = a->LocalAddress().substr(std::string("tcp1:").size());
  const auto is_refused = [&] {
    const UniqueFd fd = *SocketAddress::Parse(address)->Connect();
    pollfd connected{.fd = fd.get(), .events = POLLOUT, .revents = 0};
    poll(&connected, 1, 1000);
    int error = 0;
    socklen_t bytes = sizeof(error);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &bytes);
    return error == ECONNREFUSED;
  };
  EXPECT_TRUE(is_refused());
  ASSERT_TRUE(a->Connect({kB, "tcp1:127.0.0.1:1", "n22"}).ok());
  EXPECT_FALSE(is_refused());
}

TEST(TcpTransportTest, AFrameThatNamesAnotherSenderIsDropped) {
  Side a(kA), b(kB);
  ConnectBoth(&a, &b);
  ASSERT_TRUE(a->Send(kB, FrameOf(Incarnation(33), 1, 100), {}).ok());
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 2, 100), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.frames.empty(); }));
  EXPECT_EQ(NumberOf(b.frames[0]), 2u);
  EXPECT_EQ(b->counts().dropped, 1u);
}

// --- Connections that are lost ---

// Two sides that reach each other through relays.
class RelayedTest : public testing::Test {
 protected:
  RelayedTest() {
    EXPECT_TRUE(a_->Connect({kB, "tcp1:" + to_b_.address(), "n22"}).ok());
    EXPECT_TRUE(b_->Connect({kA, "tcp1:" + to_a_.address(), "n11"}).ok());
  }
  void Reset() {
    to_a_.Reset();
    to_b_.Reset();
  }
  void Stall(bool stalls) {
    to_a_.Stall(stalls);
    to_b_.Stall(stalls);
  }
  void RunAndCheck(Traffic* traffic) {
    ASSERT_TRUE(RunTill({&a_, &b_}, [&] {
      traffic->Send();
      return traffic->HasArrived();
    }));
    traffic->Check();
  }

  // The time-out also ends a handshake that waits for bytes which a damaged length has announced.
  static TcpTransportOptions Options() { return {.hello_timeout = absl::Seconds(1)}; }

  Side a_{kA, Options()}, b_{kB, Options()};
  Relay to_a_{a_.Socket()}, to_b_{b_.Socket()};
};

// COPSE_TEST_RESETS: more of them, after random numbers of frames.
TEST_F(RelayedTest, NothingIsLostOrRepeatedWhenConnectionsAreReset) {
  const size_t wanted = NumberInEnvironment("COPSE_TEST_RESETS", 12);
  Prng prng(20261128);
  size_t resets = 0, next = 0;
  // Frames of a round are kept until they are compared.
  while (resets < wanted) {
    Traffic traffic(&a_, &b_, 4000);
    ASSERT_TRUE(RunTill({&a_, &b_}, [&] {
      traffic.Send();
      if (b_.frames.size() >= next && resets < wanted) {
        Reset();
        ++resets;
        next = b_.frames.size() + 1 + prng.Below(600);
      }
      return traffic.HasArrived();
    }));
    traffic.Check();
    a_.frames.clear();
    b_.frames.clear();
    next = 1 + prng.Below(600);
  }
  EXPECT_GT(a_->counts().reconnected, wanted / 4);
  RecordProperty("reconnected", static_cast<int>(a_->counts().reconnected));
}

TEST_F(RelayedTest, BytesThatAreChangedOnTheirWayAreNotTaken) {
  Traffic traffic(&a_, &b_, 2000);
  size_t changes = 0;
  ASSERT_TRUE(RunTill({&a_, &b_}, [&] {
    traffic.Send();
    if (b_.frames.size() > 200 * (changes + 1)) {
      ++changes;
      for (Relay* relay : {&to_a_, &to_b_}) relay->Corrupt(static_cast<int64_t>(changes * 1237));
    }
    return traffic.HasArrived();
  }));
  traffic.Check();
  EXPECT_GT(changes, 3u);
  EXPECT_GT(a_->counts().reconnected, 0u);
}

// A byte of each part of the handshake and of both hellos is changed, on its way from either side.
TEST_F(RelayedTest, AHandshakeThatIsDamagedIsTriedAgain) {
  ASSERT_TRUE(RunTill({&a_, &b_}, [&] { return a_->counts().connected > 0 && b_->counts().connected > 0; }));
  const int64_t kStep = 149;
  for (int64_t skip = 3; skip < 4500; skip += kStep) {
    const uint64_t connected = a_->counts().connected;
    for (Relay* relay : {&to_a_, &to_b_}) relay->Corrupt(skip);
    Reset();
    ASSERT_TRUE(RunTill({&a_, &b_}, [&] {
      return a_->counts().connected > connected || !a_.downs.empty() || !b_.downs.empty();
    })) << skip;
    ASSERT_TRUE(a_.downs.empty() && b_.downs.empty()) << skip << (a_.downs.empty() ? b_ : a_).downs[0].second;
  }
}

TEST_F(RelayedTest, ALinkThatStandsStillEndsNothing) {
  Traffic traffic(&a_, &b_, 500);
  ASSERT_TRUE(RunTill({&a_, &b_}, [&] { return a_->counts().connected > 0; }));
  Stall(true);
  traffic.Send();
  // COPSE_TEST_CUT_MS: for longer.
  const absl::Duration cut = absl::Milliseconds(NumberInEnvironment("COPSE_TEST_CUT_MS", 300));
  const absl::Time until = absl::Now() + cut;
  ASSERT_TRUE(RunTill(
      {&a_, &b_}, [&] { return absl::Now() > until; }, cut + absl::Seconds(10)));
  EXPECT_LT(b_.frames.size(), 500u);
  Stall(false);
  RunAndCheck(&traffic);
}

// --- Peers that end ---

TEST(TcpTransportTest, APeerWhoseProcessEndsIsReportedWithinASecond) {
  Side a(kA);
  auto b = std::make_unique<Side>(kB);
  ConnectBoth(&a, b.get());
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 1, 100), {}).ok());
  ASSERT_TRUE(RunTill({&a, b.get()}, [&] { return !b->frames.empty(); }));
  const absl::Time ended = absl::Now();
  b = nullptr;  // the kernel closes its sockets, as it does when the process is killed
  ASSERT_TRUE(RunTill({&a}, [&] { return !a.downs.empty(); }));
  EXPECT_LT(absl::Now() - ended, absl::Seconds(1));
  EXPECT_EQ(a.downs[0].first, kB);
  EXPECT_EQ(a.downs[0].second.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(a->Send(kB, FrameOf(kA, 1, 100), {}).code(), absl::StatusCode::kUnavailable);
}

TEST(TcpTransportTest, AnotherDaemonAtThePeersAddressShowsThatThePeerHasEnded) {
  Side a(kA);
  TcpTransportOptions options;
  auto b = std::make_unique<Side>(kB, options);
  ConnectBoth(&a, b.get());
  ASSERT_TRUE(
      RunTill({&a, b.get()}, [&] { return a->counts().connected > 0 && b->transport->counts().connected > 0; }));
  options.address = b->transport->LocalAddress().substr(5);
  b = nullptr;
  // The port may be in TIME_WAIT for nobody: the successor binds it at once.
  options.identity = IdentityOf(Authority(), "n22");
  Side successor(Incarnation(23), options);
  ASSERT_TRUE(successor->Connect({Incarnation(99), "tcp1:127.0.0.1:1"}).ok());  // it listens
  ASSERT_TRUE(RunTill({&a, &successor}, [&] { return !a.downs.empty(); }));
  EXPECT_TRUE(absl::StrContains(a.downs[0].second.message(), "another one answers")) << a.downs[0].second;
}

TEST(TcpTransportTest, APeerThatCannotBeReachedAtFirstIsReportedAfterAWhile) {
  TcpTransportOptions options;
  options.first_contact = absl::Milliseconds(300);
  Side a(kA, options);
  const absl::Time begun = absl::Now();
  ASSERT_TRUE(a->Connect({kB, "tcp1:127.0.0.1:1", "n22"}).ok());
  ASSERT_TRUE(RunTill({&a}, [&] { return !a.downs.empty(); }));
  EXPECT_GE(absl::Now() - begun, absl::Milliseconds(300));
}

TEST(TcpTransportTest, AfterDisconnectNothingIsSentUntilConnectedAnew) {
  Side a(kA), b(kB);
  for (size_t life = 1; life <= 20; ++life) {
    ConnectBoth(&a, &b);
    ASSERT_TRUE(a->Send(kB, FrameOf(kA, 1, 100), {}).ok());
    ASSERT_TRUE(b->Send(kA, FrameOf(kB, 1, 100), {}).ok());
    ASSERT_TRUE(RunTill({&a, &b}, [&] { return a.frames.size() == life && b.frames.size() == life; })) << life;
    a->Disconnect(kB);
    b->Disconnect(kA);
    EXPECT_EQ(a->Send(kB, FrameOf(kA, 1, 100), {}).code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(a.downs.empty());
  EXPECT_TRUE(b.downs.empty());
}

TEST(TcpTransportTest, APeerThatDisconnectsIsReported) {
  Side a(kA), b(kB);
  ConnectBoth(&a, &b);
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 1, 100), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.frames.empty(); }));
  a->Disconnect(kB);
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.downs.empty(); }));
  EXPECT_EQ(b.downs[0].first, kA);
}

// --- Certificates that change ---

// The authority's list names number 66, which is the one of node n22.
std::shared_ptr<const TlsIdentity> IdentityWithList(const std::string& node, long serial, const std::string& list) {
  const TestCertificate issued = Authority().Issue({.uri = "spiffe://test/node/" + node, .serial = serial});
  return *TlsIdentity::FromCertificates(issued.certificate, issued.key, Authority().certificate(), list);
}

struct RotationTest : testing::Test {
  RotationTest() {
    b_options.identity = IdentityWithList("n22", 66, "");
    b.emplace(kB, b_options);
    ConnectBoth(&a, &*b);
    Traffic first(&a, &*b, 100);
    first.Send();
    EXPECT_TRUE(RunTill({&a, &*b}, [&] {
      first.Send();
      return first.HasArrived();
    }));
    first.Check();
  }

  TcpTransportOptions b_options;
  Side a{kA};
  std::optional<Side> b;
};

TEST_F(RotationTest, ARevokedPeersConnectionsEndAtOnce) {
  a->UseIdentity(IdentityWithList("n11", 2, Authority().Revoke({66})));
  ASSERT_TRUE(RunTill({&a, &*b}, [&] { return !a.downs.empty(); }));
  EXPECT_TRUE(absl::StrContains(a.downs[0].second.message(), "revoked")) << a.downs[0].second;
  EXPECT_EQ(a->counts().refused, 1u);
  // Nor is it let in again.
  ASSERT_TRUE(a->Connect(b->Address()).ok());
  a.downs.clear();
  ASSERT_TRUE(RunTill({&a, &*b}, [&] { return !a.downs.empty(); }));
}

TEST_F(RotationTest, OthersGoOnWithTheNewFiles) {
  const uint64_t connected = a->counts().connected;
  a->UseIdentity(IdentityWithList("n11", 3, Authority().Revoke({77})));
  (*b)->UseIdentity(IdentityWithList("n22", 4, Authority().Revoke({77})));
  a.frames.clear();
  b->frames.clear();
  Traffic more(&a, &*b, 100);
  ASSERT_TRUE(RunTill({&a, &*b}, [&] {
    more.Send();
    return more.HasArrived();
  }));
  more.Check();
  EXPECT_EQ(a->counts().connected, connected) << "no connection was made anew";
}

TEST_F(RotationTest, APeerWhoseCertificateEndsMeanwhileGoesOn) {
  const absl::Time ends = absl::Now() + absl::Seconds(3);
  const TestCertificate brief = Authority().Issue({.uri = "spiffe://test/node/n33", .seconds = 2, .serial = 5});
  Side c(Incarnation(33),
         {.identity = *TlsIdentity::FromCertificates(brief.certificate, brief.key, Authority().certificate())});
  ConnectBoth(&a, &c);
  Traffic before(&a, &c, 100);
  a.frames.clear();
  ASSERT_TRUE(RunTill({&a, &c}, [&] {
    before.Send();
    return before.HasArrived();
  }));
  ASSERT_TRUE(RunTill({&a, &c}, [&] { return absl::Now() > ends; }));
  a->UseIdentity(IdentityWithList("n11", 3, Authority().Revoke({77})));
  a.frames.clear();
  c.frames.clear();
  Traffic more(&a, &c, 100);
  ASSERT_TRUE(RunTill({&a, &c}, [&] {
    more.Send();
    return more.HasArrived();
  }));
  more.Check();
}

TEST_F(RotationTest, APeerOfAnotherAuthorityIsBelievedNoMore) {
  const TestAuthority other;
  const TestCertificate issued = other.IssueNode("n11");
  a->UseIdentity(*TlsIdentity::FromCertificates(issued.certificate, issued.key, other.certificate()));
  ASSERT_TRUE(RunTill({&a, &*b}, [&] { return !a.downs.empty(); }));
}

// --- Strangers ---

class StrangerTest : public testing::Test {
 protected:
  // Expects that the two do not reach each other, and that the first is told so.
  void ExpectDown(Side* a, Side* b, const PeerAddress& of_b) {
    ASSERT_TRUE(a->transport->Connect(of_b).ok());
    ASSERT_TRUE(b->transport->Connect({a->incarnation, "tcp1:127.0.0.1:1", Side::NodeOf(a->incarnation)}).ok());
    ASSERT_TRUE(a->transport->Send(b->incarnation, FrameOf(a->incarnation, 1, 100), {}).ok());
    ASSERT_TRUE(RunTill({a, b}, [&] { return !a->downs.empty(); }));
    EXPECT_TRUE(b->frames.empty());
    EXPECT_EQ(a->transport->counts().connected, 0u);
  }
};

TEST_F(StrangerTest, ACertificateOfAnotherAuthorityIsRefused) {
  const TestAuthority other;
  TcpTransportOptions options;
  options.identity = IdentityOf(other, "n11");
  Side a(kA, options), b(kB);
  ExpectDown(&a, &b, b.Address());
}

TEST_F(StrangerTest, AnotherNodesCertificateIsRefused) {
  TcpTransportOptions options;
  options.identity = IdentityOf(Authority(), "n66");
  Side a(kA, options), b(kB);
  ExpectDown(&a, &b, b.Address());
  EXPECT_GT(b->counts().refused, 0u);
}

TEST_F(StrangerTest, AnotherNodeAtThePeersAddressIsRefused) {
  Side a(kA), b(kB);
  PeerAddress address = b.Address();
  address.node = "n66";
  ExpectDown(&a, &b, address);
}

TEST_F(StrangerTest, WithoutFileDescriptorsItSleepsAndAcceptsLater) {
  TcpTransportOptions options;
  options.strangers_max = 8;
  Side b(kB, options);
  ASSERT_TRUE(b->Connect({kA, "tcp1:127.0.0.1:1", "n11"}).ok());  // it listens
  const SocketAddress address = *SocketAddress::Parse(b->LocalAddress().substr(5));
  const UniqueFd stranger = *address.Connect();
  {
    const DescriptorLimit famine(0);
    int busy = 0;
    for (const absl::Time end = absl::Now() + absl::Milliseconds(250); absl::Now() < end;) busy += b->Progress(&b);
    EXPECT_LE(busy, 20);
  }
  send(stranger.get(), "nonsense", 8, MSG_NOSIGNAL);
  ASSERT_TRUE(RunTill({&b}, [&] { return b->counts().refused == 1; }));
}

TEST_F(StrangerTest, WhoeverSaysNothingIsPutOutAndKeepsNobodyOut) {
  TcpTransportOptions options;
  options.strangers_max = 8;
  options.hello_timeout = absl::Milliseconds(200);
  Side a(kA), b(kB, options);
  ASSERT_TRUE(b->Connect(a.Address()).ok());  // it listens
  const SocketAddress address = *SocketAddress::Parse(b->LocalAddress().substr(5));
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 40; ++i) {
    strangers.push_back(*address.Connect());
    if (i % 2 == 1) send(strangers.back().get(), "nonsense", 8, MSG_NOSIGNAL);
  }
  ASSERT_TRUE(a->Connect(b.Address()).ok());
  ASSERT_TRUE(a->Send(kB, FrameOf(kA, 1, 100), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() == 1; }));
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b->counts().refused >= 40; }));
  EXPECT_TRUE(b.downs.empty());
}

TEST_F(StrangerTest, ASourceThatBeginsManyHandshakesIsPutOutBeforeThem) {
  TcpTransportOptions options;
  options.strangers_max = 1 << 20;  // nobody has to go for another one
  options.hello_timeout = absl::Minutes(10);
  Side b(kB, options);
  ASSERT_TRUE(b->Connect({kA, "tcp1:127.0.0.1:1", "n11"}).ok());  // it listens
  const SocketAddress address = *SocketAddress::Parse(b->LocalAddress().substr(5));
  std::vector<UniqueFd> strangers;
  // Connects from 127.0.0.1 until one is put out.
  const auto exhaust = [&] {
    for (const uint64_t before = b->counts().refused; b->counts().refused == before;) {
      strangers.push_back(*address.Connect());
      b->Progress(&b);
      if (strangers.size() > 100 * StrangerBudget::kBurst) return false;
    }
    return true;
  };
  ASSERT_TRUE(exhaust());
  EXPECT_GE(strangers.size(), StrangerBudget::kBurst);
  // Another host is not concerned. It is accepted before those that come after it.
  const UniqueFd other(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from = {};
  from.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.2", &from.sin_addr);
  ASSERT_EQ(bind(other.get(), reinterpret_cast<const sockaddr*>(&from), sizeof(from)), 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(b->LocalAddress().substr(b->LocalAddress().rfind(':') + 1))));
  ASSERT_EQ(connect(other.get(), reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  ASSERT_TRUE(exhaust());
  char byte;
  EXPECT_EQ(recv(other.get(), &byte, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN) << "it is connected";
}

}  // namespace
}  // namespace copse::emu
