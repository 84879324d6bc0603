// SPDX-License-Identifier: Apache-2.0
//
// UCX as a program without Copse would use it. It is a peer, so it shares no code with offload_emu/ucx: the one file
// outside that folder with UCX's headers (tools/tidy/tidy.py).
#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "bench/hop_side.h"
#include "daemon/loop/unique_fd.h"

namespace copse::bench {
namespace {

constexpr unsigned kMessageId = 1;
constexpr int kSleepMs = 100;  // as the daemon's: what a lost wake-up costs at most

absl::Status Check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(what, ": ", ucs_status_string(status)));
}

class UcxSide final : public HopSide {
 public:
  ~UcxSide() override {
    if (endpoint_ != nullptr) {
      ucp_request_param_t force{};
      force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      force.flags = UCP_EP_CLOSE_FLAG_FORCE;
      void* request = ucp_ep_close_nbx(endpoint_, &force);
      while (UCS_PTR_IS_PTR(request) && ucp_request_check_status(request) == UCS_INPROGRESS) {
        ucp_worker_progress(worker_);
      }
      if (UCS_PTR_IS_PTR(request)) ucp_request_free(request);
    }
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  absl::Status Open() {
    ucp_config_t* config = nullptr;
    RETURN_IF_ERROR(Check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
    ucp_config_modify(config, "TLS", "tcp");
    ucp_config_modify(config, "NET_DEVICES", "lo");
    ucp_config_modify(config, "RNDV_THRESH", "inf");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    const ucs_status_t opened = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    RETURN_IF_ERROR(Check(opened, "ucp_init"));
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    RETURN_IF_ERROR(Check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create"));
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kMessageId;
    handler.cb = OnMessage;
    handler.arg = this;
    RETURN_IF_ERROR(Check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler"));
    int event_fd = -1;
    RETURN_IF_ERROR(Check(ucp_worker_get_efd(worker_, &event_fd), "ucp_worker_get_efd"));
    epoll_ = daemon::UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_fd, &event) != 0) return absl::ErrnoToStatus(errno, "epoll_ctl");
    return absl::OkStatus();
  }

  std::string Address() override {
    ucp_address_t* address = nullptr;
    size_t bytes = 0;
    if (ucp_worker_get_address(worker_, &address, &bytes) != UCS_OK) return "";
    std::string text(reinterpret_cast<const char*>(address), bytes);
    ucp_worker_release_address(worker_, address);
    return text;
  }

  absl::Status Connect(const std::string& peer_address) override {
    ucp_ep_params_t params{};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(peer_address.data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = OnError;
    params.err_handler.arg = this;
    return Check(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
  }

  absl::Status Send() override {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    void* request = ucp_am_send_nbx(endpoint_, kMessageId, header_.data(), header_.size(), payload_.data(),
                                    payload_.size(), &param);
    if (UCS_PTR_IS_ERR(request)) return Check(UCS_PTR_STATUS(request), "ucp_am_send_nbx");
    if (request == nullptr) return absl::OkStatus();
    while (ucp_request_check_status(request) == UCS_INPROGRESS) ucp_worker_progress(worker_);
    ucp_request_free(request);
    return absl::OkStatus();
  }

  absl::Status Receive(bool sleep) override {
    while (received_ == 0 && down_ == UCS_OK) {
      if (ucp_worker_progress(worker_) > 0 || !sleep) continue;
      const ucs_status_t armed = ucp_worker_arm(worker_);
      if (armed == UCS_ERR_BUSY) continue;
      RETURN_IF_ERROR(Check(armed, "ucp_worker_arm"));
      epoll_event event;
      epoll_wait(epoll_.get(), &event, 1, kSleepMs);
    }
    if (received_ > 0) --received_;
    return Check(down_, "peer");
  }

  absl::Status Flush() override {
    ucp_worker_progress(worker_);
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
  static void OnError(void* argument, ucp_ep_h, ucs_status_t status) {
    static_cast<UcxSide*>(argument)->down_ = status;
  }

  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  daemon::UniqueFd epoll_;
  std::array<uint8_t, kHopHeaderBytes> header_ = {};
  std::array<uint8_t, kHopPayloadBytes> payload_ = {};
  std::array<uint8_t, kHopHeaderBytes + kHopPayloadBytes> arrived_ = {};
  uint32_t received_ = 0;
  ucs_status_t down_ = UCS_OK;
};

}  // namespace

absl::StatusOr<std::unique_ptr<HopSide>> NewUcxSide() {
  auto side = std::make_unique<UcxSide>();
  RETURN_IF_ERROR(side->Open());
  return side;
}

}  // namespace copse::bench
