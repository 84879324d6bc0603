// SPDX-License-Identifier: Apache-2.0
#include "bench/pairs/raw_ucx.h"

#include <sys/epoll.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace copse::bench {
namespace {

constexpr int kSleepMs = 100;

}  // namespace

absl::Status CheckUcx(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(what, ": ", ucs_status_string(status)));
}

bool UcxDone(void** request) {
  if (UCS_PTR_IS_PTR(*request) && ucp_request_check_status(*request) == UCS_INPROGRESS) return false;
  if (UCS_PTR_IS_PTR(*request)) ucp_request_free(*request);
  *request = nullptr;
  return true;
}

RawUcx::~RawUcx() {
  Disconnect();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

absl::Status RawUcx::Open(const RawUcxOptions& options) {
  ucp_config_t* config = nullptr;
  RETURN_IF_ERROR(CheckUcx(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
  ucp_config_modify(config, "TLS", "tcp");
  ucp_config_modify(config, "NET_DEVICES", "lo");
  ucp_config_modify(config, "RNDV_THRESH", options.rendezvous_from);
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | options.features;
  const ucs_status_t opened = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  RETURN_IF_ERROR(CheckUcx(opened, "ucp_init"));
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
  RETURN_IF_ERROR(CheckUcx(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create"));
  int event_fd = -1;
  RETURN_IF_ERROR(CheckUcx(ucp_worker_get_efd(worker_, &event_fd), "ucp_worker_get_efd"));
  epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_fd, &event) != 0) return absl::ErrnoToStatus(errno, "epoll_ctl");
  return absl::OkStatus();
}

absl::Status RawUcx::SetHandler(unsigned id, ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = id;
  param.cb = handler;
  param.arg = argument;
  return CheckUcx(ucp_worker_set_am_recv_handler(worker_, &param), "ucp_worker_set_am_recv_handler");
}

std::string RawUcx::Address() const {
  ucp_address_t* address = nullptr;
  size_t bytes = 0;
  if (ucp_worker_get_address(worker_, &address, &bytes) != UCS_OK) return "";
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return text;
}

absl::Status RawUcx::Connect(const char* address) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address);
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler.cb = OnError;
  params.err_handler.arg = this;
  return CheckUcx(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create");
}

void RawUcx::Disconnect() {
  if (endpoint_ == nullptr) return;
  ucp_request_param_t force{};
  force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  force.flags = UCP_EP_CLOSE_FLAG_FORCE;
  void* request = ucp_ep_close_nbx(std::exchange(endpoint_, nullptr), &force);
  while (!UcxDone(&request)) Progress();
}

absl::Status RawUcx::Send(unsigned id, const void* header, size_t header_bytes, const void* data, size_t bytes,
                          bool rendezvous, void** request) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  *request = ucp_am_send_nbx(endpoint_, id, header, header_bytes, data, bytes, &param);
  return UCS_PTR_IS_ERR(*request) ? CheckUcx(UCS_PTR_STATUS(*request), "ucp_am_send_nbx") : absl::OkStatus();
}

absl::Status RawUcx::Sleep() {
  const ucs_status_t armed = ucp_worker_arm(worker_);
  if (armed == UCS_ERR_BUSY) return absl::OkStatus();
  RETURN_IF_ERROR(CheckUcx(armed, "ucp_worker_arm"));
  epoll_event event;
  epoll_wait(epoll_.get(), &event, 1, kSleepMs);
  return absl::OkStatus();
}

}  // namespace copse::bench
