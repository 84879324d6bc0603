// SPDX-License-Identifier: Apache-2.0
//
// Two processes that send a packet of 128 bytes back and forth, over TCP on loopback.
//
//     hop_pair SYSTEM BUDGET_MS CALLS_MAX MODE:packet:BYTES...     MODE: polling, sleeping
//
// SYSTEM: ucx without Copse; engines over UCX (copse), over the sealed wire (copse-tcp), encrypted
// (copse-tcp-encrypted).
//
// A sample is half of the microseconds of a round trip.
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/status_macros.h"
#include "bench/pairs/engine_end.h"
#include "bench/pairs/pair_end.h"
#include "bench/pairs/raw_ucx.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/poller.h"
#include "offload_emu/packet.h"
#include "offload_emu/tcp/tcp_transport.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "offload_emu/tcp/tls_identity.h"
#include "offload_emu/transport.h"
#include "offload_emu/ucx/ucx_transport.h"

namespace copse::bench {
namespace {

constexpr uint32_t kWarmUpCalls = 100;

// One process of the two, whose systems differ in how a packet is sent and received.
class HopSide : public PairSide {
 public:
  virtual absl::Status Send() = 0;
  // Waits for a packet, by sleeping if `sleep`, else by polling.
  virtual absl::Status Receive(bool sleep) = 0;
  // Makes progress on sent packets.
  virtual absl::Status Flush() = 0;

  absl::StatusOr<std::vector<double>> Measure(const PairEnd& pair, const PairArguments& arguments,
                                              size_t index) override {
    const bool sleep = Sleeps(arguments.cells[index]);
    ASSIGN_OR_RETURN(std::vector<double> trials, Ping(sleep, kWarmUpCalls));
    std::sort(trials.begin(), trials.end());
    const double fit = arguments.budget_us / (2 * trials[trials.size() / 2] + 0.1);
    const auto calls = static_cast<uint32_t>(std::clamp<double>(fit, 10, arguments.count_max));
    RETURN_IF_ERROR(pair.Notify(calls));
    return Ping(sleep, calls);
  }
  absl::Status End(const PairEnd& pair) override { return pair.Notify(uint32_t{0}); }
  absl::Status Serve(const PairEnd& pair, const PairArguments& arguments) override {
    for (const PairArguments::Cell& cell : arguments.cells) {
      RETURN_IF_ERROR(Echo(Sleeps(cell), kWarmUpCalls));
      uint32_t calls = 0;
      RETURN_IF_ERROR(pair.Receive(&calls));
      RETURN_IF_ERROR(Echo(Sleeps(cell), calls));
    }
    // The last answer leaves the process only if somebody moves the network on.
    while (pair.IsQuiet()) RETURN_IF_ERROR(Flush());
    return absl::OkStatus();
  }

 private:
  static bool Sleeps(const PairArguments::Cell& cell) { return cell.mode == "sleeping"; }
  absl::StatusOr<std::vector<double>> Ping(bool sleep, uint32_t calls) {
    std::vector<double> samples;
    for (uint32_t i = 0; i < calls; ++i) {
      const int64_t start = absl::GetCurrentTimeNanos();
      RETURN_IF_ERROR(Send());
      RETURN_IF_ERROR(Receive(sleep));
      samples.push_back(static_cast<double>(absl::GetCurrentTimeNanos() - start) / 2000);
    }
    return samples;
  }
  absl::Status Echo(bool sleep, uint32_t calls) {
    for (uint32_t i = 0; i < calls; ++i) {
      RETURN_IF_ERROR(Receive(sleep));
      RETURN_IF_ERROR(Send());
    }
    return absl::OkStatus();
  }
};

absl::StatusOr<std::unique_ptr<emu::PolledTransport>> OpenUcx() {
  emu::UcxTransportOptions options;
  options.net_devices = "lo";
  return emu::UcxTransport::Create(options);
}

// `authority` is the same in both processes.
absl::StatusOr<std::unique_ptr<emu::PolledTransport>> OpenTcp(const emu::TestAuthority& authority, const Clock* clock,
                                                              uint32_t number, bool encrypt) {
  const emu::TestCertificate certificate = authority.IssueNode(absl::StrCat("n", number));
  emu::TcpTransportOptions options;
  options.self = EngineEnd::IncarnationOf(number);
  options.encrypt = encrypt;
  ASSIGN_OR_RETURN(options.identity, emu::TlsIdentity::FromCertificates(certificate.certificate, certificate.key,
                                                                        authority.certificate(), ""));
  return emu::TcpTransport::Create(clock, options);
}

// An engine that sleeps in the daemon's loop.
class EngineSide final : public HopSide, public daemon::LoopWork {
 public:
  // `transport` must be that of this number.
  absl::Status Open(std::unique_ptr<emu::PolledTransport> transport, uint32_t number) {
    peer_ = EngineEnd::IncarnationOf(1 - number);
    transport_ = std::move(transport);
    RETURN_IF_ERROR(transport_->Open());
    RETURN_IF_ERROR(end_.Open(transport_.get(), number));
    ASSIGN_OR_RETURN(poller_, daemon::Poller::Create());
    RETURN_IF_ERROR(poller_->Watch(transport_->event_fd(), EPOLLIN, nullptr));
    loop_ =
        std::make_unique<daemon::Loop>(&clock_, poller_.get(), this, daemon::LoopOptions{.spin = absl::ZeroDuration()});
    return absl::OkStatus();
  }
  // The label that the peer sends with, and the worker's address.
  std::string Address() override {
    const emu::Label label = end_.label();
    std::string address(sizeof(label), '\0');
    std::memcpy(address.data(), &label, sizeof(label));
    return address + transport_->LocalAddress();
  }
  absl::Status Connect(const std::string& peer_address) override {
    emu::Label label = emu::kNoLabel;
    if (peer_address.size() <= sizeof(label)) return absl::UnavailableError("the other process has no address");
    std::memcpy(&label, peer_address.data(), sizeof(label));
    RETURN_IF_ERROR(transport_->Connect({peer_, peer_address.substr(sizeof(label))}));
    return end_.SetPeer(label);
  }
  absl::Status Send() override {
    RETURN_IF_ERROR(end_.Post());
    Progress();
    return absl::OkStatus();
  }
  absl::Status Receive(bool sleep) override {
    while (received_ == 0 && end_.peer_status().ok()) {
      if (sleep) {
        loop_->Turn();
      } else {
        Progress();
      }
    }
    if (received_ > 0) --received_;
    return end_.peer_status();
  }
  absl::Status Flush() override {
    Progress();
    return end_.peer_status();
  }

  // --- The daemon's loop ---
  bool ReadPosts() override { return false; }
  bool Progress() override {
    const bool any = end_.Progress();
    received_ += end_.Pop();
    return any;
  }
  void SetSleeping(bool) override {}
  // What has come is not to be slept on.
  bool ArmNetwork() override {
    if (received_ > 0) return false;
    const absl::StatusOr<bool> armed = transport_->Arm();
    return armed.ok() && *armed;
  }
  absl::Time NextDeadline() override { return absl::InfiniteFuture(); }

 private:
  const MonotonicClock clock_{};
  Incarnation peer_;
  std::unique_ptr<emu::PolledTransport> transport_;
  EngineEnd end_;
  std::unique_ptr<daemon::Poller> poller_;
  std::unique_ptr<daemon::Loop> loop_;
  uint32_t received_ = 0;
};

// UCX's active messages without Copse, with the same settings.
class UcxSide final : public HopSide {
 public:
  absl::Status Open() {
    RETURN_IF_ERROR(ucx_.Open({}));
    return ucx_.SetHandler(kMessageId, OnMessage, this);
  }
  std::string Address() override { return ucx_.Address(); }
  absl::Status Connect(const std::string& peer_address) override { return ucx_.Connect(peer_address.data()); }
  absl::Status Send() override {
    void* request = nullptr;
    RETURN_IF_ERROR(ucx_.Send(kMessageId, header_.data(), header_.size(), payload_.data(), payload_.size(),
                              /*rendezvous=*/false, &request));
    while (!UcxDone(&request)) ucx_.Progress();
    return absl::OkStatus();
  }
  absl::Status Receive(bool sleep) override {
    while (received_ == 0 && !ucx_.down()) {
      if (!ucx_.Progress() && sleep) RETURN_IF_ERROR(ucx_.Sleep());
    }
    if (received_ > 0) --received_;
    return ucx_.PeerStatus();
  }
  absl::Status Flush() override {
    ucx_.Progress();
    return absl::OkStatus();
  }

 private:
  static constexpr unsigned kMessageId = 1;
  static constexpr uint32_t kHeaderBytes = 8;  // as long as the engine's

  static ucs_status_t OnMessage(void* argument, const void* header, size_t header_bytes, void* data, size_t bytes,
                                const ucp_am_recv_param_t*) {
    auto* side = static_cast<UcxSide*>(argument);
    if (header_bytes == kHeaderBytes && bytes == emu::kMpPayloadBytes) {
      std::memcpy(side->arrived_.data(), header, header_bytes);
      std::memcpy(side->arrived_.data() + header_bytes, data, bytes);
      ++side->received_;
    }
    return UCS_OK;
  }

  std::array<uint8_t, kHeaderBytes> header_ = {};
  std::array<uint8_t, emu::kMpPayloadBytes> payload_ = {};
  std::array<uint8_t, kHeaderBytes + emu::kMpPayloadBytes> arrived_ = {};
  uint32_t received_ = 0;
  RawUcx ucx_;
};

absl::StatusOr<std::unique_ptr<PairSide>> OpenHopSide(const emu::TestAuthority& authority,
                                                      const PairArguments& arguments, uint32_t number) {
  for (const PairArguments::Cell& cell : arguments.cells) {
    if (cell.mode != "polling" && cell.mode != "sleeping") return absl::InvalidArgumentError("mode=" + cell.mode);
  }
  if (arguments.system == "ucx") {
    auto side = std::make_unique<UcxSide>();
    RETURN_IF_ERROR(side->Open());
    return side;
  }
  static const MonotonicClock clock;
  std::unique_ptr<emu::PolledTransport> transport;
  if (arguments.system == "copse") {
    ASSIGN_OR_RETURN(transport, OpenUcx());
  } else if (arguments.system == "copse-tcp" || arguments.system == "copse-tcp-encrypted") {
    ASSIGN_OR_RETURN(transport, OpenTcp(authority, &clock, number, arguments.system == "copse-tcp-encrypted"));
  } else {
    return absl::InvalidArgumentError("no such system");
  }
  auto side = std::make_unique<EngineSide>();
  RETURN_IF_ERROR(side->Open(std::move(transport), number));
  return side;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  const copse::emu::TestAuthority authority;
  return copse::bench::PairMain(argc, argv, [&](const copse::bench::PairArguments& arguments, uint32_t number) {
    return copse::bench::OpenHopSide(authority, arguments, number);
  });
}
