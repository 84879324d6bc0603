// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/ucx/ucx_transport.h"

#include <ucp/api/ucp.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/process/lost_memory.h"
#include "base/status_macros.h"
#include "offload_emu/frames/frame_inbox.h"
#include "offload_emu/packet.h"
#include "offload_emu/ucx/send_buffers.h"
#include "offload_emu/ucx/ucx_status.h"
#include "offload_emu/ucx/ucx_worker.h"

namespace copse::emu {
namespace {

constexpr unsigned kFrameMessageId = 1;
constexpr int kCloseRoundsMax = 100'000;

// A worker address carries a checksum, since UCX trusts its bytes.
constexpr size_t kChecksumBytes = sizeof(uint64_t);

std::string Sealed(const std::string& address) {
  const uint64_t checksum = Fnv1a64(address);
  std::string sealed(reinterpret_cast<const char*>(&checksum), kChecksumBytes);
  return sealed + address;
}

absl::Status CheckSeal(const std::string& sealed) {
  uint64_t checksum = 0;
  if (sealed.size() > kChecksumBytes) std::memcpy(&checksum, sealed.data(), kChecksumBytes);
  if (sealed.size() <= kChecksumBytes || Fnv1a64(std::string_view(sealed).substr(kChecksumBytes)) != checksum) {
    return absl::InvalidArgumentError(absl::StrCat("worker address of ", sealed.size(), " bytes is damaged"));
  }
  return absl::OkStatus();
}

}  // namespace

class UcxTransport::Impl {
 public:
  Impl(const UcxTransportOptions& options, std::unique_ptr<UcxWorker> worker)
      : options_(options), worker_(std::move(worker)) {}
  ~Impl();

  absl::Status Open();
  const UcxWorker& worker() const { return *worker_; }
  uint64_t dropped_messages() const { return dropped_messages_; }
  absl::Status Connect(const PeerAddress& peer);
  void Disconnect(Incarnation peer);
  absl::Status Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body);
  bool Progress(TransportSink* sink);

 private:
  // An Endpoint is the connection to one peer. UCX refers to it until its handle is closed, so it is kept in closing_
  // after it has left endpoints_.
  struct Endpoint {
    Impl* transport = nullptr;
    Incarnation peer;
    ucp_ep_h handle = nullptr;
    uint32_t outstanding = 0;
    bool failed = false;
    absl::Status why;
    void* close_request = nullptr;  // set while it is closing
  };

  static void OnError(void* argument, ucp_ep_h handle, ucs_status_t status);
  static void OnSent(void* request, ucs_status_t status, void* user_data);
  static ucs_status_t OnMessage(void* argument, const void* header, size_t header_length, void* data, size_t length,
                                const ucp_am_recv_param_t* param);

  void Fail(Endpoint* endpoint, const absl::Status& why);
  void Close(std::unique_ptr<Endpoint> endpoint);
  bool ReapClosed();
  bool DeliverFrames(TransportSink* sink);
  bool ReportFailures(TransportSink* sink);

  const UcxTransportOptions options_;
  const std::unique_ptr<UcxWorker> worker_;
  uint64_t dropped_messages_ = 0;
  uint32_t outstanding_ = 0;
  std::map<Incarnation, std::unique_ptr<Endpoint>> endpoints_;
  std::vector<std::unique_ptr<Endpoint>> closing_;
  bool failures_pending_ = false;
  std::vector<Incarnation> failed_;  // ReportFailures' scratch list
  SendBuffers buffers_;
  TransportSink* progressing_ = nullptr;  // receives frames: set while UCX runs
  FrameInbox inbox_;
  FrameInbox delivering_;
};

UcxTransport::Impl::~Impl() {
  for (auto& [incarnation, endpoint] : endpoints_) {
    if (endpoint->handle != nullptr) Close(std::move(endpoint));
  }
  endpoints_.clear();
  for (int i = 0; i < kCloseRoundsMax && (!closing_.empty() || outstanding_ > 0); ++i) {
    ucp_worker_progress(worker_->get());
    ReapClosed();
  }
}

absl::Status UcxTransport::Impl::Open() {
  if (worker_->is_open()) return absl::OkStatus();
  RETURN_IF_ERROR(worker_->Open());
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = kFrameMessageId;
  param.cb = OnMessage;
  param.arg = this;
  return UcxToStatus(ucp_worker_set_am_recv_handler(worker_->get(), &param), "ucp_worker_set_am_recv_handler");
}

absl::Status UcxTransport::Impl::Connect(const PeerAddress& peer) {
  RETURN_IF_ERROR(CheckSeal(peer.worker_address));
  if (!worker_->is_open()) return absl::FailedPreconditionError("UCX: the network is not open");
  std::unique_ptr<Endpoint>& slot = endpoints_[peer.incarnation];
  if (slot != nullptr && slot->handle != nullptr) return absl::OkStatus();
  slot = std::make_unique<Endpoint>();
  slot->transport = this;
  slot->peer = peer.incarnation;
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.worker_address.data() + kChecksumBytes);
  params.err_mode = options_.peers_may_die ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = OnError;
  params.err_handler.arg = slot.get();
  const ucs_status_t status = ucp_ep_create(worker_->get(), &params, &slot->handle);
  if (status != UCS_OK) {
    slot->handle = nullptr;
    Fail(slot.get(), UcxToStatus(status, "ucp_ep_create"));
  }
  return absl::OkStatus();
}

void UcxTransport::Impl::Disconnect(Incarnation peer) {
  const auto it = endpoints_.find(peer);
  if (it == endpoints_.end()) return;
  std::unique_ptr<Endpoint> endpoint = std::move(it->second);
  endpoints_.erase(it);
  if (endpoint->handle != nullptr) Close(std::move(endpoint));
}

// Begins to close the endpoint; by force if peers may die: frames not yet sent are lost, and UCX does not wait for the
// peer.
void UcxTransport::Impl::Close(std::unique_ptr<Endpoint> endpoint) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = options_.peers_may_die ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  endpoint->close_request = ucp_ep_close_nbx(endpoint->handle, &param);
  endpoint->handle = nullptr;
  closing_.push_back(std::move(endpoint));
}

bool UcxTransport::Impl::ReapClosed() {
  size_t kept = 0;
  for (std::unique_ptr<Endpoint>& endpoint : closing_) {
    void* request = endpoint->close_request;
    const bool pending = UCS_PTR_IS_PTR(request);
    if (pending && ucp_request_check_status(request) != UCS_INPROGRESS) {
      ucp_request_free(request);
      endpoint->close_request = nullptr;
    }
    if (UCS_PTR_IS_PTR(endpoint->close_request) || endpoint->outstanding > 0) {
      if (&closing_[kept] != &endpoint) closing_[kept] = std::move(endpoint);
      ++kept;
    }
  }
  const bool any = kept < closing_.size();
  closing_.resize(kept);
  return any;
}

// UCX's reason may have any code, but a connection that cannot be used is UNAVAILABLE.
void UcxTransport::Impl::Fail(Endpoint* endpoint, const absl::Status& why) {
  if (endpoint->failed) return;
  endpoint->failed = true;
  endpoint->why = absl::UnavailableError(why.message());
  failures_pending_ = true;
}

void UcxTransport::Impl::OnError(void* argument, ucp_ep_h /*handle*/, ucs_status_t status) {
  Endpoint* endpoint = static_cast<Endpoint*>(argument);
  endpoint->transport->Fail(
      endpoint, absl::UnavailableError(absl::StrCat("connection to incarnation ", endpoint->peer.value(), ": ",
                                                    ucs_status_string(status))));
}

void UcxTransport::Impl::OnSent(void* request, ucs_status_t /*status*/, void* user_data) {
  // A failed send is a failure of its endpoint, which OnError reports.
  SendBuffer* buffer = static_cast<SendBuffer*>(user_data);
  Endpoint* endpoint = static_cast<Endpoint*>(buffer->user);
  --endpoint->outstanding;
  --endpoint->transport->outstanding_;
  endpoint->transport->buffers_.Return(buffer);
  ucp_request_free(request);
}

absl::Status UcxTransport::Impl::Send(Incarnation peer, absl::Span<const uint8_t> head,
                                      absl::Span<const uint8_t> body) {
  const auto it = endpoints_.find(peer);
  if (it == endpoints_.end()) {
    return absl::UnavailableError(absl::StrCat("no connection to incarnation ", peer.value()));
  }
  Endpoint* endpoint = it->second.get();
  if (endpoint->failed) return endpoint->why;
  if (endpoint->outstanding >= options_.frames_per_peer_max || outstanding_ >= options_.frames_max) {
    return absl::ResourceExhaustedError(absl::StrCat(endpoint->outstanding, " frames to incarnation ", peer.value(),
                                                     " (limit ", options_.frames_per_peer_max, "), ", outstanding_,
                                                     " to all (limit ", options_.frames_max, ")"));
  }
  const uint32_t bytes = static_cast<uint32_t>(head.size() + body.size());
  CHECK_LE(bytes, kFrameBytesMax);
  SendBuffer* buffer = buffers_.Take(bytes);
  buffer->user = endpoint;
  if (!head.empty()) std::memcpy(buffer->data(), head.data(), head.size());
  if (!body.empty()) std::memcpy(buffer->data() + head.size(), body.data(), body.size());
  if (AnyMemoryLost() && IsMemoryLost(body.data(), body.size())) {
    buffers_.Return(buffer);
    return absl::DataLossError(absl::StrCat(body.size(), " bytes for incarnation ", peer.value(), " are lost"));
  }

  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.send = OnSent;
  param.user_data = buffer;
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint->handle, kFrameMessageId, nullptr, 0, buffer->data(), bytes, &param);
  if (UCS_PTR_IS_PTR(request)) {
    ++endpoint->outstanding;
    ++outstanding_;
    return absl::OkStatus();
  }
  buffers_.Return(buffer);
  if (!UCS_PTR_IS_ERR(request)) return absl::OkStatus();
  Fail(endpoint, UcxToStatus(UCS_PTR_STATUS(request), "ucp_am_send"));
  return endpoint->why;
}

// Offers the frame to the sink, which must not call UCX here, and keeps it for DeliverFrames if the sink does not take
// it: OnFrame may send, connect and disconnect, which UCX forbids within its callback.
ucs_status_t UcxTransport::Impl::OnMessage(void* argument, const void* /*header*/, size_t header_length, void* data,
                                           size_t length, const ucp_am_recv_param_t* param) {
  Impl* transport = static_cast<Impl*>(argument);
  if (header_length != 0 || length > kFrameBytesMax || (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    ++transport->dropped_messages_;
    return UCS_OK;
  }
  const auto frame = absl::MakeConstSpan(static_cast<const uint8_t*>(data), length);
  if (transport->progressing_ == nullptr || !transport->progressing_->TakeFrame(frame)) {
    transport->inbox_.Add(data, length);
  }
  return UCS_OK;
}

bool UcxTransport::Impl::DeliverFrames(TransportSink* sink) {
  if (inbox_.empty()) return false;
  delivering_.Clear();
  delivering_.Swap(&inbox_);
  delivering_.ForEach([sink](absl::Span<const uint8_t> frame) { sink->OnFrame(frame); });
  return true;
}

bool UcxTransport::Impl::ReportFailures(TransportSink* sink) {
  if (!failures_pending_) return false;
  failures_pending_ = false;
  failed_.clear();
  for (const auto& [incarnation, endpoint] : endpoints_) {
    if (endpoint->failed) failed_.push_back(incarnation);
  }
  bool any = false;
  for (const Incarnation peer : failed_) {
    const auto it = endpoints_.find(peer);
    if (it == endpoints_.end() || !it->second->failed) continue;  // the sink has disconnected it
    const absl::Status why = it->second->why;
    if (it->second->handle != nullptr) Close(std::move(it->second));
    endpoints_.erase(it);
    sink->OnPeerDown(peer, why);
    any = true;
  }
  return any;
}

bool UcxTransport::Impl::Progress(TransportSink* sink) {
  if (!worker_->is_open()) return false;
  bool any = false;
  progressing_ = sink;
  for (uint32_t i = 0; i < options_.polls && !any; ++i) any = ucp_worker_progress(worker_->get()) > 0;
  progressing_ = nullptr;
  any |= DeliverFrames(sink);
  any |= ReportFailures(sink);
  if (!closing_.empty()) any |= ReapClosed();
  return any;
}

UcxTransport::UcxTransport(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
UcxTransport::~UcxTransport() = default;

absl::StatusOr<std::unique_ptr<UcxTransport>> UcxTransport::Create(const UcxTransportOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<UcxWorker> worker, UcxWorker::Create(options.tls, options.net_devices));
  return std::unique_ptr<UcxTransport>(new UcxTransport(std::make_unique<Impl>(options, std::move(worker))));
}

absl::Status UcxTransport::Open() { return impl_->Open(); }
std::string UcxTransport::LocalAddress() const {
  return impl_->worker().is_open() ? Sealed(impl_->worker().address()) : "";
}
absl::Status UcxTransport::Connect(const PeerAddress& peer) { return impl_->Connect(peer); }
void UcxTransport::Disconnect(Incarnation peer) { impl_->Disconnect(peer); }
absl::Status UcxTransport::Send(Incarnation peer, absl::Span<const uint8_t> head, absl::Span<const uint8_t> body) {
  return impl_->Send(peer, head, body);
}
bool UcxTransport::Progress(TransportSink* sink) { return impl_->Progress(sink); }
int UcxTransport::event_fd() const { return impl_->worker().event_fd(); }
uint64_t UcxTransport::dropped_messages() const { return impl_->dropped_messages(); }

absl::StatusOr<bool> UcxTransport::Arm() {
  if (!impl_->worker().is_open()) return true;
  const ucs_status_t status = ucp_worker_arm(impl_->worker().get());
  if (status == UCS_ERR_BUSY) return false;
  RETURN_IF_ERROR(UcxToStatus(status, "ucp_worker_arm"));
  return true;
}

}  // namespace copse::emu
