// SPDX-License-Identifier: Apache-2.0
//
// A packet back and forth by UCX alone.
#include <array>
#include <cstring>

#include "base/status_macros.h"
#include "bench/pairs/hop_side.h"
#include "bench/pairs/raw_ucx.h"

namespace copse::bench {
namespace {

constexpr unsigned kMessageId = 1;

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
  static ucs_status_t OnMessage(void* argument, const void* header, size_t header_bytes, void* data, size_t bytes,
                                const ucp_am_recv_param_t*) {
    auto* side = static_cast<UcxSide*>(argument);
    if (header_bytes == kHopHeaderBytes && bytes == kHopPayloadBytes) {
      std::memcpy(side->arrived_.data(), header, header_bytes);
      std::memcpy(side->arrived_.data() + header_bytes, data, bytes);
      ++side->received_;
    }
    return UCS_OK;
  }

  std::array<uint8_t, kHopHeaderBytes> header_ = {};
  std::array<uint8_t, kHopPayloadBytes> payload_ = {};
  std::array<uint8_t, kHopHeaderBytes + kHopPayloadBytes> arrived_ = {};
  uint32_t received_ = 0;
  RawUcx ucx_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HopSide>> NewUcxSide() {
  auto side = std::make_unique<UcxSide>();
  RETURN_IF_ERROR(side->Open());
  return side;
}

}  // namespace copse::bench
