// SPDX-License-Identifier: Apache-2.0
//
// Long data by UCX as a program without Copse would move it. Like hop_ucx.cc it shares no code with offload_emu/ucx.
#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "bench/transfer_side.h"
#include "daemon/loop/unique_fd.h"

namespace copse::bench {
namespace {

constexpr unsigned kPieceId = 1;    // header: number of the piece; with its data
constexpr unsigned kArrivedId = 2;  // the same, of a piece that was put
constexpr unsigned kTakenId = 3;    // header: how many pieces the receiver has got, from the first on
constexpr uint32_t kPiecesPerTaken = kPiecesUnderWay / 4;
constexpr int kSleepMs = 100;  // as the daemon's: what a lost wake-up costs at most
constexpr size_t kPageBytes = 4096;
constexpr size_t kMemoryBytes = size_t{kPiecesUnderWay} * kPieceBytesMax;

absl::Status Check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(what, ": ", ucs_status_string(status)));
}

// Word i of what a piece holds.
uint64_t WordOf(uint32_t stream, uint32_t piece, uint64_t i) {
  return (((uint64_t{stream} << 32) | piece) + 1) * 0x9E3779B97F4A7C15u + i * 0xBF58476D1CE4E5B9u;
}

struct FreeMemory {
  void operator()(uint8_t* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t[], FreeMemory>;

// Its pages are there before anything is timed.
Memory NewMemory() {
  Memory memory(static_cast<uint8_t*>(std::aligned_alloc(kPageBytes, kMemoryBytes)));
  CHECK(memory != nullptr);
  std::memset(memory.get(), 0xFF, kMemoryBytes);
  return memory;
}

class UcxSide final : public TransferSide {
 public:
  explicit UcxSide(TransferWay way) : way_(way), memory_(NewMemory()) {}
  ~UcxSide() override {
    if (remote_key_ != nullptr) ucp_rkey_destroy(remote_key_);
    if (endpoint_ != nullptr) {
      ucp_request_param_t force{};
      force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
      force.flags = UCP_EP_CLOSE_FLAG_FORCE;
      void* request = ucp_ep_close_nbx(endpoint_, &force);
      while (!Done(&request)) ucp_worker_progress(worker_);
    }
    if (exported_ != nullptr) ucp_mem_unmap(context_, exported_);
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  absl::Status Open() {
    ucp_config_t* config = nullptr;
    RETURN_IF_ERROR(Check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read"));
    ucp_config_modify(config, "TLS", "tcp");
    ucp_config_modify(config, "NET_DEVICES", "lo");
    ucp_config_modify(config, "RNDV_THRESH", way_ == TransferWay::kRendezvous ? "0" : "inf");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    if (way_ == TransferWay::kPut) params.features |= UCP_FEATURE_RMA;
    const ucs_status_t opened = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    RETURN_IF_ERROR(Check(opened, "ucp_init"));
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
    RETURN_IF_ERROR(Check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create"));
    RETURN_IF_ERROR(SetHandler(kPieceId, OnPiece));
    RETURN_IF_ERROR(SetHandler(kArrivedId, OnArrived));
    RETURN_IF_ERROR(SetHandler(kTakenId, OnTaken));
    if (way_ == TransferWay::kPut) RETURN_IF_ERROR(Export());
    if (way_ == TransferWay::kEager) aside_ = NewMemory();
    int event_fd = -1;
    RETURN_IF_ERROR(Check(ucp_worker_get_efd(worker_, &event_fd), "ucp_worker_get_efd"));
    epoll_ = daemon::UniqueFd(epoll_create1(EPOLL_CLOEXEC));
    epoll_event event{};
    event.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event_fd, &event) != 0) return absl::ErrnoToStatus(errno, "epoll_ctl");
    return absl::OkStatus();
  }

  // Where the memory is, and the key to it with its length if it is exported; then the worker's address.
  std::string Address() override {
    const auto base = reinterpret_cast<uint64_t>(memory_.get());
    std::string text(reinterpret_cast<const char*>(&base), sizeof(base));
    void* key = nullptr;
    size_t key_bytes = 0;
    if (exported_ != nullptr && ucp_rkey_pack(context_, exported_, &key, &key_bytes) != UCS_OK) return "";
    text.append(reinterpret_cast<const char*>(&key_bytes), sizeof(key_bytes));
    if (key != nullptr) {
      text.append(static_cast<const char*>(key), key_bytes);
      ucp_rkey_buffer_release(key);
    }
    ucp_address_t* address = nullptr;
    size_t bytes = 0;
    if (ucp_worker_get_address(worker_, &address, &bytes) != UCS_OK) return "";
    text.append(reinterpret_cast<const char*>(address), bytes);
    ucp_worker_release_address(worker_, address);
    return text;
  }

  absl::Status Connect(const std::string& peer_address) override {
    size_t key_bytes = 0;
    const char* at = peer_address.data();
    if (peer_address.size() < sizeof(peer_memory_) + sizeof(key_bytes)) {
      return absl::InvalidArgumentError("the other process has no address");
    }
    std::memcpy(&peer_memory_, at, sizeof(peer_memory_));
    std::memcpy(&key_bytes, at + sizeof(peer_memory_), sizeof(key_bytes));
    at += sizeof(peer_memory_) + sizeof(key_bytes);
    ucp_ep_params_t params{};
    params.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(at + key_bytes);
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = OnError;
    params.err_handler.arg = this;
    RETURN_IF_ERROR(Check(ucp_ep_create(worker_, &params, &endpoint_), "ucp_ep_create"));
    if (key_bytes == 0) return absl::OkStatus();
    return Check(ucp_ep_rkey_unpack(endpoint_, at, &remote_key_), "ucp_ep_rkey_unpack");
  }

  void Fill(const TransferStream& stream) override {
    piece_bytes_ = stream.bytes;
    for (uint32_t slot = 0; slot < kPiecesUnderWay; ++slot) FillPiece(stream, slot);
  }

  absl::Status Send(const TransferStream& stream) override {
    piece_bytes_ = stream.bytes;
    taken_ = 0;
    for (uint32_t i = 0; i < stream.pieces; ++i) {
      std::array<void*, 2>& requests = requests_[i % kPiecesUnderWay];
      while (i >= taken_ + kPiecesUnderWay || !Done(&requests[0]) || !Done(&requests[1])) RETURN_IF_ERROR(Wait());
      if (stream.checks_each != 0) FillPiece(stream, i);
      RETURN_IF_ERROR(SendPiece(stream, i));
    }
    while (taken_ < stream.pieces) RETURN_IF_ERROR(Wait());
    return FinishRequests();
  }

  absl::Status Receive(const TransferStream& stream) override {
    piece_bytes_ = stream.bytes;
    uint32_t got = 0;
    while (got < stream.pieces) {
      RETURN_IF_ERROR(Wait());
      CopyKept();
      for (; arrived_[got % kPiecesUnderWay] && got < stream.pieces; ++got) {
        arrived_[got % kPiecesUnderWay] = false;
        if (stream.checks_each != 0) RETURN_IF_ERROR(VerifyPiece(stream, got));
        if ((got + 1) % kPiecesPerTaken == 0) RETURN_IF_ERROR(SendTaken(got + 1));
      }
    }
    RETURN_IF_ERROR(FinishRequests());
    // The last message leaves the process only if somebody moves the network on.
    ucp_request_param_t param{};
    void* flush = ucp_worker_flush_nbx(worker_, &param);
    while (!Done(&flush)) RETURN_IF_ERROR(Wait());
    return absl::OkStatus();
  }

  absl::Status Verify(const TransferStream& stream) override {
    for (uint32_t slot = 0; slot < kPiecesUnderWay; ++slot) {
      // Streams that check each piece have filled a slot anew for each.
      const uint32_t piece = stream.checks_each != 0 ? stream.pieces - kPiecesUnderWay + slot : slot;
      RETURN_IF_ERROR(VerifyPiece(stream, piece));
    }
    return absl::OkStatus();
  }

 private:
  struct Kept {
    uint64_t piece = 0;
    const void* data = nullptr;
    size_t bytes = 0;
    void* lent = nullptr;  // UCX's, to be given back
  };

  // Slots lie together: a stride of a power of two would put all of them into the same lines of the caches.
  size_t OffsetOf(uint64_t piece) const { return piece % kPiecesUnderWay * piece_bytes_; }
  uint8_t* SlotOf(uint64_t piece) { return memory_.get() + OffsetOf(piece); }

  void FillPiece(const TransferStream& stream, uint32_t piece) {
    auto* words = reinterpret_cast<uint64_t*>(SlotOf(piece));
    for (uint64_t i = 0; i < stream.bytes / sizeof(uint64_t); ++i) words[i] = WordOf(stream.number, piece, i);
  }

  absl::Status VerifyPiece(const TransferStream& stream, uint32_t piece) {
    const auto* words = reinterpret_cast<const uint64_t*>(SlotOf(piece));
    for (uint64_t i = 0; i < stream.bytes / sizeof(uint64_t); ++i) {
      if (words[i] == WordOf(stream.number, piece, i)) continue;
      return absl::DataLossError(absl::StrCat("stream ", stream.number, ": piece ", piece, " is wrong from byte ",
                                              i * sizeof(uint64_t), " of ", stream.bytes));
    }
    return absl::OkStatus();
  }

  absl::Status SetHandler(unsigned id, ucp_am_recv_callback_t handler) {
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = id;
    param.cb = handler;
    param.arg = this;
    return Check(ucp_worker_set_am_recv_handler(worker_, &param), "ucp_worker_set_am_recv_handler");
  }

  absl::Status Export() {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = memory_.get();
    params.length = kMemoryBytes;
    return Check(ucp_mem_map(context_, &params, &exported_), "ucp_mem_map");
  }

  // Whether UCX has finished with it; then it is null.
  static bool Done(void** request) {
    if (UCS_PTR_IS_PTR(*request) && ucp_request_check_status(*request) == UCS_INPROGRESS) return false;
    if (UCS_PTR_IS_PTR(*request)) ucp_request_free(*request);
    *request = nullptr;
    return true;
  }

  absl::Status FinishRequests() {
    for (std::array<void*, 2>& requests : requests_) {
      while (!Done(&requests[0]) || !Done(&requests[1])) RETURN_IF_ERROR(Wait());
    }
    return absl::OkStatus();
  }

  // Moves the network on; sleeps if there is nothing to move.
  absl::Status Wait() {
    RETURN_IF_ERROR(Check(down_, "peer"));
    if (ucp_worker_progress(worker_) > 0) return absl::OkStatus();
    const ucs_status_t armed = ucp_worker_arm(worker_);
    if (armed == UCS_ERR_BUSY) return absl::OkStatus();
    RETURN_IF_ERROR(Check(armed, "ucp_worker_arm"));
    epoll_event event;
    epoll_wait(epoll_.get(), &event, 1, kSleepMs);
    return absl::OkStatus();
  }

  absl::Status SendMessage(unsigned id, const uint64_t* header, const void* data, size_t bytes, bool rendezvous,
                           void** request) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    *request = ucp_am_send_nbx(endpoint_, id, header, sizeof(*header), data, bytes, &param);
    return UCS_PTR_IS_ERR(*request) ? Check(UCS_PTR_STATUS(*request), "ucp_am_send_nbx") : absl::OkStatus();
  }

  absl::Status SendPiece(const TransferStream& stream, uint32_t piece) {
    const uint32_t slot = piece % kPiecesUnderWay;
    headers_[slot] = piece;
    if (way_ != TransferWay::kPut) {
      return SendMessage(kPieceId, &headers_[slot], SlotOf(piece), stream.bytes, way_ == TransferWay::kRendezvous,
                         &requests_[slot][0]);
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    const uint64_t to = peer_memory_ + OffsetOf(piece);
    requests_[slot][0] = ucp_put_nbx(endpoint_, SlotOf(piece), stream.bytes, to, remote_key_, &param);
    if (UCS_PTR_IS_ERR(requests_[slot][0])) return Check(UCS_PTR_STATUS(requests_[slot][0]), "ucp_put_nbx");
    // The message must not be there before the piece.
    RETURN_IF_ERROR(Check(ucp_worker_fence(worker_), "ucp_worker_fence"));
    return SendMessage(kArrivedId, &headers_[slot], nullptr, 0, /*rendezvous=*/false, &requests_[slot][1]);
  }

  absl::Status SendTaken(uint32_t count) {
    // The sender has not gone on to this slot's next use unless it has had this one's message.
    const uint32_t slot = (count - 1) % kPiecesUnderWay;
    while (!Done(&requests_[slot][0])) RETURN_IF_ERROR(Wait());
    headers_[slot] = count;
    return SendMessage(kTakenId, &headers_[slot], nullptr, 0, /*rendezvous=*/false, &requests_[slot][0]);
  }

  void CopyKept() {
    for (const Kept& kept : kept_) {
      std::memcpy(SlotOf(kept.piece), kept.data, kept.bytes);
      if (kept.lent != nullptr) ucp_am_data_release(worker_, kept.lent);
      arrived_[kept.piece % kPiecesUnderWay] = true;
    }
    kept_.clear();
  }

  static bool TakeNumber(const void* header, size_t header_bytes, uint64_t* number) {
    if (header_bytes != sizeof(*number)) return false;
    std::memcpy(number, header, sizeof(*number));
    return true;
  }

  static ucs_status_t OnPiece(void* argument, const void* header, size_t header_bytes, void* data, size_t bytes,
                              const ucp_am_recv_param_t* param) {
    auto* side = static_cast<UcxSide*>(argument);
    uint64_t piece = 0;
    if (!TakeNumber(header, header_bytes, &piece) || bytes != side->piece_bytes_) return UCS_OK;
    const uint32_t slot = piece % kPiecesUnderWay;
    if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) return side->FetchPiece(slot, data);
    if (side->way_ == TransferWay::kEager) {
      const bool lent = (param->recv_attr & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
      uint8_t* aside = side->aside_.get() + side->OffsetOf(piece);
      if (!lent) std::memcpy(aside, data, bytes);
      side->kept_.push_back(
          {.piece = piece, .data = lent ? data : aside, .bytes = bytes, .lent = lent ? data : nullptr});
      return lent ? UCS_INPROGRESS : UCS_OK;
    }
    std::memcpy(side->SlotOf(piece), data, bytes);
    side->arrived_[slot] = true;
    return UCS_OK;
  }

  // Of a rendezvous.
  ucs_status_t FetchPiece(uint32_t slot, void* announced) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv_am = OnFetched;
    param.user_data = &arrived_[slot];
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    void* request = ucp_am_recv_data_nbx(worker_, announced, SlotOf(slot), piece_bytes_, &param);
    if (UCS_PTR_IS_ERR(request)) down_ = UCS_PTR_STATUS(request);
    return UCS_INPROGRESS;
  }
  static void OnFetched(void* request, ucs_status_t status, size_t /*bytes*/, void* arrived) {
    // An error is one of the endpoint, which OnError tells.
    if (status == UCS_OK) *static_cast<bool*>(arrived) = true;
    ucp_request_free(request);
  }

  static ucs_status_t OnArrived(void* argument, const void* header, size_t header_bytes, void*, size_t,
                                const ucp_am_recv_param_t*) {
    uint64_t piece = 0;
    if (TakeNumber(header, header_bytes, &piece)) {
      static_cast<UcxSide*>(argument)->arrived_[piece % kPiecesUnderWay] = true;
    }
    return UCS_OK;
  }

  static ucs_status_t OnTaken(void* argument, const void* header, size_t header_bytes, void*, size_t,
                              const ucp_am_recv_param_t*) {
    TakeNumber(header, header_bytes, &static_cast<UcxSide*>(argument)->taken_);
    return UCS_OK;
  }

  static void OnError(void* argument, ucp_ep_h, ucs_status_t status) {
    static_cast<UcxSide*>(argument)->down_ = status;
  }

  const TransferWay way_;
  const Memory memory_;
  Memory aside_;  // for what UCX does not lend
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  ucp_mem_h exported_ = nullptr;
  ucp_rkey_h remote_key_ = nullptr;
  uint64_t peer_memory_ = 0;
  daemon::UniqueFd epoll_;
  std::array<std::array<void*, 2>, kPiecesUnderWay> requests_ = {};
  std::array<uint64_t, kPiecesUnderWay> headers_ = {};  // UCX may read one until its request is done
  std::array<bool, kPiecesUnderWay> arrived_ = {};
  std::vector<Kept> kept_;
  size_t piece_bytes_ = 0;  // of the stream
  uint64_t taken_ = 0;
  ucs_status_t down_ = UCS_OK;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TransferSide>> NewTransferSide(TransferWay way) {
  auto side = std::make_unique<UcxSide>(way);
  RETURN_IF_ERROR(side->Open());
  return side;
}

}  // namespace copse::bench
