// SPDX-License-Identifier: Apache-2.0
//
// Tests two transports in one process, and one whose peer is another process that gets killed. All run over loopback.
#include "offload_emu/ucx/ucx_transport.h"

#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/time/clock.h"
#include "base/hash.h"
#include "base/process/lost_memory.h"
#include "base/testing/mapping_beyond_end.h"
#include "gtest/gtest.h"
#include "offload_emu/packet.h"
#include "offload_emu/testing/transport_end.h"

namespace copse::emu {
namespace {

constexpr char kPeerFlag[] = "--peer";
const Incarnation kA(11);
const Incarnation kB(22);

UcxTransportOptions OnLoopback() {
  UcxTransportOptions options;
  options.net_devices = "lo";
  return options;
}

std::unique_ptr<UcxTransport> NewTransport(const UcxTransportOptions& options = OnLoopback()) {
  auto transport = UcxTransport::Create(options);
  EXPECT_TRUE(transport.ok()) << transport.status();
  EXPECT_TRUE((*transport)->Open().ok());
  return *std::move(transport);
}

std::vector<uint8_t> FrameOf(uint32_t number, size_t bytes) {
  std::vector<uint8_t> frame(bytes);
  for (size_t i = 0; i < bytes; ++i) frame[i] = static_cast<uint8_t>(number * 31 + i);
  std::memcpy(frame.data(), &number, sizeof(number));
  return frame;
}

// One transport, and what it has received.
struct Side : TransportEnd {
  explicit Side(const UcxTransportOptions& options = OnLoopback()) : transport(NewTransport(options)) {}
  UcxTransport* operator->() { return transport.get(); }
  PolledTransport* polled() const override { return transport.get(); }

  const std::unique_ptr<UcxTransport> transport;
};

UcxTransportOptions Over(const std::string& tls) {
  UcxTransportOptions options = OnLoopback();
  options.tls = tls;
  return options;
}

class UcxTransportsTest : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, UcxTransportsTest, testing::Values("tcp", "posix", "sysv", "posix,tcp"));

TEST_P(UcxTransportsTest, ExchangeFramesOfAllSizesBothWays) {
  constexpr uint32_t kFrames = 10'000;
  Side a(Over(GetParam()));
  Side b(Over(GetParam()));
  ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());
  ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());  // idempotent
  ASSERT_TRUE(b->Connect({kA, a->LocalAddress()}).ok());
  const auto size_of = [](uint32_t i) -> size_t { return i % 100 == 0 ? kFrameBytesMax : 4 + (i * 37) % 700; };
  uint32_t sent_a = 0, sent_b = 0, exhausted = 0;
  const auto send = [&](UcxTransport* from, Incarnation to, uint32_t* sent) {
    while (*sent < kFrames) {
      const std::vector<uint8_t> frame = FrameOf(*sent, size_of(*sent));
      const size_t head = std::min<size_t>(frame.size(), 32);
      const absl::Status status =
          from->Send(to, absl::MakeConstSpan(frame).first(head), absl::MakeConstSpan(frame).subspan(head));
      if (absl::IsResourceExhausted(status)) {
        ++exhausted;
        return;
      }
      ASSERT_TRUE(status.ok()) << status;
      ++*sent;
    }
  };
  ASSERT_TRUE(RunTill({&a, &b}, [&] {
    send(a.transport.get(), kB, &sent_a);
    send(b.transport.get(), kA, &sent_b);
    return a.frames.size() == kFrames && b.frames.size() == kFrames;
  }));
  EXPECT_GT(exhausted, 0u);  // the pool is bounded
  for (const Side* side : {&a, &b}) {
    std::vector<bool> seen(kFrames);
    for (const std::vector<uint8_t>& frame : side->frames) {
      uint32_t number;
      std::memcpy(&number, frame.data(), sizeof(number));
      ASSERT_LT(number, kFrames);
      EXPECT_FALSE(seen[number]);
      seen[number] = true;
      EXPECT_EQ(frame, FrameOf(number, size_of(number)));
    }
    EXPECT_TRUE(side->downs.empty());
  }
  EXPECT_EQ(a->dropped_messages(), 0u);
}

TEST(UcxTransportTest, ATransportReachesItselfBySelf) {
  UcxTransportOptions options = Over("self");
  options.peers_may_die = false;
  Side a(options);
  ASSERT_TRUE(a->Connect({kA, a->LocalAddress()}).ok());
  for (const size_t bytes : {64, 8'000, 61'000}) {
    ASSERT_TRUE(a->Send(kA, FrameOf(static_cast<uint32_t>(bytes), bytes), {}).ok());
  }
  ASSERT_TRUE(RunTill({&a}, [&] { return a.frames.size() == 3; }));
  for (const auto& frame : a.frames) {
    EXPECT_EQ(frame, FrameOf(static_cast<uint32_t>(frame.size()), frame.size()));
  }
  EXPECT_TRUE(a.downs.empty());
}

TEST(UcxTransportTest, WithoutATransportOfItsOwnTheEnvironmentChooses) {
  ASSERT_EQ(setenv("UCX_TLS", "nosuchtransport", 1), 0);
  EXPECT_FALSE(UcxTransport::Create(Over("")).ok());
  EXPECT_TRUE(UcxTransport::Create(Over("tcp")).ok());
  ASSERT_EQ(unsetenv("UCX_TLS"), 0);
  EXPECT_TRUE(UcxTransport::Create(Over("")).ok());
}

// UCX handles SIGBUS, too, once it is loaded.
TEST(UcxTransportTest, NothingIsSentOfMemoryThatIsLost) {
  CatchMemoryFaults();
  Side a, b;
  ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());
  const MappingBeyondEnd memory(0, 8192);
  const TrackedMemory tracked = *TrackedMemory::Track(memory.data(), memory.bytes());
  EXPECT_TRUE(absl::IsDataLoss(a->Send(kB, {}, absl::MakeConstSpan(memory.data(), 8000))));
  EXPECT_TRUE(tracked.lost());
  ASSERT_TRUE(a->Send(kB, FrameOf(1, 64), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.frames.empty(); }));
  EXPECT_EQ(b.frames[0], FrameOf(1, 64));
}

TEST(UcxTransportTest, OffersFramesAndDeliversWhatIsNotTaken) {
  Side a, b;
  ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());
  b.takes_odd = true;
  const size_t sizes[] = {64, 65, 8'000, 8'001, 61'000, 61'001};
  for (const size_t bytes : sizes) ASSERT_TRUE(a->Send(kB, FrameOf(static_cast<uint32_t>(bytes), bytes), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return b.frames.size() + b.taken.size() == 6; }));
  for (const auto* frames : {&b.frames, &b.taken}) {
    ASSERT_EQ(frames->size(), 3u);
    for (const std::vector<uint8_t>& frame : *frames) {
      EXPECT_EQ(frame, FrameOf(static_cast<uint32_t>(frame.size()), frame.size()));
    }
  }
}

TEST(UcxTransportTest, SendsNowhereUnlessConnected) {
  auto a = NewTransport();
  EXPECT_EQ(a->Send(kB, {}, {}).code(), absl::StatusCode::kUnavailable);
  a->Disconnect(kB);  // unknown: ignored
}

TEST(UcxTransportTest, RefusesADamagedAddress) {
  auto a = NewTransport();
  std::string address = a->LocalAddress();
  EXPECT_EQ(a->Connect({kB, "short"}).code(), absl::StatusCode::kInvalidArgument);
  address[12] ^= 1;
  EXPECT_EQ(a->Connect({kB, address}).code(), absl::StatusCode::kInvalidArgument);
}

// An address of zeros has its checksum, but UCX makes no endpoint for it.
TEST(UcxTransportTest, APeerWithoutAnEndpointIsUnavailable) {
  Side a;
  const std::string zeros(64, '\0');
  const uint64_t checksum = Fnv1a64(zeros);
  const std::string address = std::string(reinterpret_cast<const char*>(&checksum), sizeof(checksum)) + zeros;
  ASSERT_TRUE(a->Connect({kB, address}).ok());
  EXPECT_EQ(a->Send(kB, FrameOf(1, 64), {}).code(), absl::StatusCode::kUnavailable);
  ASSERT_TRUE(RunTill({&a}, [&] { return !a.downs.empty(); }));
  EXPECT_EQ(a.downs[0].second.code(), absl::StatusCode::kUnavailable);
}

TEST(UcxTransportTest, RefusesAnUnknownDevice) {
  UcxTransportOptions options = OnLoopback();
  options.net_devices = "nosuchdevice0";
  EXPECT_FALSE(UcxTransport::Create(options).ok());
}

TEST(UcxTransportTest, AfterDisconnectNothingIsSentUntilConnectedAnew) {
  Side a, b;
  const std::vector<uint8_t> frame = FrameOf(1, 64);
  for (size_t life = 1; life <= 20; ++life) {
    ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());
    ASSERT_TRUE(b->Connect({kA, a->LocalAddress()}).ok());
    ASSERT_TRUE(a->Send(kB, frame, {}).ok());
    ASSERT_TRUE(b->Send(kA, frame, {}).ok());
    ASSERT_TRUE(RunTill({&a, &b}, [&] { return a.frames.size() == life && b.frames.size() == life; })) << life;
    a->Disconnect(kB);
    b->Disconnect(kA);
    EXPECT_EQ(a->Send(kB, frame, {}).code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(a.downs.empty());
  EXPECT_TRUE(b.downs.empty());
}

// Runs this very program as another process, which connects to the transport whose address it is given, prints its
// own address on standard output, and sends every frame back.
class PeerProcess {
 public:
  explicit PeerProcess(const std::string& address_of_test) {
    int out[2];
    EXPECT_EQ(pipe(out), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(out[1], 1);
      close(out[0]);
      const std::string address = absl::BytesToHexString(address_of_test);
      execl("/proc/self/exe", "ucx_transport_test", kPeerFlag, address.c_str(), nullptr);
      _exit(127);
    }
    close(out[1]);
    char c;
    std::string hex;
    while (read(out[0], &c, 1) == 1 && c != '\n') hex += c;
    close(out[0]);
    address_ = absl::HexStringToBytes(hex);
  }
  ~PeerProcess() { Kill(); }
  const std::string& address() const { return address_; }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  std::string address_;
};

int RunPeer(const std::string& address) {
  Side transport;
  std::cout << absl::BytesToHexString(transport->LocalAddress()) << std::endl;
  if (!transport->Connect({kA, absl::HexStringToBytes(address)}).ok()) return 1;
  RunTill({&transport}, [&] {
    for (const std::vector<uint8_t>& frame : std::exchange(transport.frames, {})) {
      if (!transport->Send(kA, frame, {}).ok()) return true;
    }
    return !transport.downs.empty();
  });
  return 0;
}

TEST(UcxTransportTest, AKilledPeerIsReportedWithinASecondAndItsSuccessorIsReached) {
  Side a;
  const std::vector<uint8_t> frame = FrameOf(7, 200);
  for (uint64_t life = 1; life <= 3; ++life) {
    const Incarnation incarnation(100 + life);
    PeerProcess peer(a->LocalAddress());
    ASSERT_TRUE(a->Connect({incarnation, peer.address()}).ok());
    ASSERT_TRUE(a->Send(incarnation, frame, {}).ok());
    ASSERT_TRUE(RunTill({&a}, [&] { return a.frames.size() == life; }));
    EXPECT_EQ(a.frames.back(), frame);
    ASSERT_TRUE(a.downs.empty());
    const absl::Time killed = absl::Now();
    peer.Kill();
    ASSERT_TRUE(RunTill({&a}, [&] { return !a.downs.empty(); }));
    EXPECT_LT(absl::Now() - killed, absl::Seconds(1));
    EXPECT_EQ(a.downs[0].first, incarnation);
    EXPECT_EQ(a.downs[0].second.code(), absl::StatusCode::kUnavailable) << a.downs[0].second;
    a.downs.clear();
    EXPECT_EQ(a->Send(incarnation, frame, {}).code(), absl::StatusCode::kUnavailable);
  }
}

TEST(UcxTransportTest, ConnectingToADeadPeerIsReportedLater) {
  Side a;
  std::string address;
  {
    PeerProcess peer(a->LocalAddress());
    address = peer.address();
  }
  ASSERT_TRUE(a->Connect({kB, address}).ok());
  const absl::Status sent = a->Send(kB, FrameOf(1, 64), {});
  EXPECT_TRUE(sent.ok() || absl::IsUnavailable(sent)) << sent;
  ASSERT_TRUE(RunTill({&a}, [&] { return !a.downs.empty(); }));
  EXPECT_EQ(a.downs[0].first, kB);
  EXPECT_TRUE(a.frames.empty());
}

sockaddr_in Loopback(uint16_t port) {
  return {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
}

// The ports of 127.0.0.1 on which this process listens.
std::set<uint16_t> ListeningPorts() {
  std::set<uint16_t> ports;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::atoi(entry.path().filename().c_str());
    int listening = 0;
    socklen_t length = sizeof(listening);
    sockaddr_in address{};
    socklen_t address_length = sizeof(address);
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0 &&
        getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_length) == 0) {
      ports.insert(ntohs(address.sin_port));
    }
  }
  return ports;
}

TEST(UcxTransportTest, NobodyCanConnectBeforeItIsOpen) {
  struct : TransportEnd {
    PolledTransport* polled() const override { return nullptr; }
  } sink;
  const std::set<uint16_t> before = ListeningPorts();
  absl::StatusOr<std::unique_ptr<UcxTransport>> made = UcxTransport::Create(OnLoopback());
  ASSERT_TRUE(made.ok()) << made.status();
  UcxTransport& transport = **made;
  Side peer;
  const std::set<uint16_t> with_peer = ListeningPorts();
  EXPECT_EQ(with_peer.size(), before.size() + 1);  // the peer's
  EXPECT_EQ(transport.LocalAddress(), "");
  EXPECT_EQ(transport.event_fd(), -1);
  EXPECT_FALSE(transport.Progress(&sink));
  EXPECT_TRUE(transport.Arm().value());
  EXPECT_EQ(transport.Connect({kB, peer->LocalAddress()}).code(), absl::StatusCode::kFailedPrecondition);

  ASSERT_TRUE(transport.Open().ok());
  const std::string address = transport.LocalAddress();
  ASSERT_TRUE(transport.Open().ok());  // idempotent
  EXPECT_EQ(transport.LocalAddress(), address);
  EXPECT_EQ(ListeningPorts().size(), with_peer.size() + 1);
  EXPECT_TRUE(transport.Connect({kB, peer->LocalAddress()}).ok());
}

// A bare socket that listens at the address of a former transport, so that a test decides how connections to that
// transport end.
class Impostor {
 public:
  explicit Impostor(int backlog) {
    const std::set<uint16_t> before = ListeningPorts();
    auto gone = NewTransport();
    address_ = gone->LocalAddress();
    for (const uint16_t port : ListeningPorts()) {
      if (before.count(port) == 0) port_ = port;
    }
    gone.reset();
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const sockaddr_in name = Loopback(port_);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof(name)), 0) << strerror(errno);
    EXPECT_EQ(listen(listener_, backlog), 0) << strerror(errno);
  }
  ~Impostor() {
    Close();
    for (const int fd : callers_) close(fd);
  }
  const std::string& address() const { return address_; }
  // Resets all connections and refuses those to come.
  void Close() {
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }
  bool has_caller() const {
    pollfd fd{listener_, POLLIN, 0};
    return poll(&fd, 1, 0) > 0;
  }
  // From here on, connections get no answer, like from a node that lost its power.
  void FallSilent() {
    const sockaddr_in name = Loopback(port_);
    for (bool answered = true; answered;) {
      const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
      callers_.push_back(fd);
      connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
      pollfd connected{fd, POLLOUT, 0};
      answered = poll(&connected, 1, 200) > 0;
    }
  }

 private:
  std::string address_;
  uint16_t port_ = 0;
  int listener_ = -1;
  std::vector<int> callers_;
};

// A connection may be reset between any two steps of its setup.
TEST(UcxTransportTest, APeerThatDiesWhileItIsConnectedToIsReported) {
  Side a;
  for (int round = 0; round < 200; ++round) {
    Impostor peer(/*backlog=*/8);
    std::atomic<bool> stop = false;
    std::thread death([&] {
      while (!stop && !peer.has_caller()) {
      }
      peer.Close();
    });
    ASSERT_TRUE(a->Connect({kB, peer.address()}).ok());
    const bool told = RunTill({&a}, [&] { return !a.downs.empty(); });
    stop = true;
    death.join();
    ASSERT_TRUE(told) << round;
    EXPECT_EQ(a.downs[0].first, kB);
    a.downs.clear();
  }
}

TEST(UcxTransportTest, ASilentPeerKeepsNobodyElseWaiting) {
  Side a, b;
  Impostor silent(/*backlog=*/0);
  silent.FallSilent();
  const Incarnation none(33);
  const absl::Time began = absl::Now();
  ASSERT_TRUE(a->Connect({none, silent.address()}).ok());
  ASSERT_TRUE(a->Send(none, FrameOf(1, 64), {}).ok());
  ASSERT_TRUE(a->Connect({kB, b->LocalAddress()}).ok());
  ASSERT_TRUE(a->Send(kB, FrameOf(2, 64), {}).ok());
  ASSERT_TRUE(RunTill({&a, &b}, [&] { return !b.frames.empty(); }));
  EXPECT_LT(absl::Now() - began, absl::Seconds(1)) << "the kernel tries to connect for two minutes";
}

}  // namespace
}  // namespace copse::emu

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == copse::emu::kPeerFlag) {
    return copse::emu::RunPeer(argv[2]);
  }
  setenv("UCX_WARN_UNUSED_ENV_VARS", "n", 1);  // on standard output, where a peer prints its address
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
