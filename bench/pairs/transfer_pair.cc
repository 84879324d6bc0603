// SPDX-License-Identifier: Apache-2.0
//
// Two processes, the first of which sends pieces of memory to the other, over TCP on loopback.
//
//     transfer_pair SYSTEM BUDGET_MS PIECES_MAX METRIC:piece:BYTES...
//
// SYSTEM: ucx-eager-copied, ucx-eager, ucx-rendezvous, ucx-put. METRIC: throughput (MB/s), processor (microseconds of
// both processes for each MiB), of each stream of pieces.
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "bench/pairs/pair_end.h"
#include "bench/pairs/raw_ucx.h"

namespace copse::bench {
namespace {

constexpr uint32_t kPiecesUnderWay = 16;
constexpr uint32_t kPieceBytesMax = 1 << 20;

enum class TransferWay {
  kEagerCopied,  // active messages with the data; their handler copies to where it belongs
  kEager,        // the handler keeps what UCX lends, else copies it aside; copied to where it belongs later
  kRendezvous,   // active messages that announce the data, which UCX then brings to where it belongs
  kPut,          // into memory that the receiver has exported, and a message without data after each piece
};

constexpr std::array<const char*, 4> kWayNames = {"ucx-eager-copied", "ucx-eager", "ucx-rendezvous", "ucx-put"};

// Same values at both sides. The count is a multiple of kPiecesUnderWay, bytes one of 8 and at most kPieceBytesMax.
struct TransferStream {
  uint32_t number = 0;  // what the pieces hold depends on it
  uint32_t pieces = 0;
  uint32_t bytes = 0;  // of each
};

constexpr unsigned kPieceId = 1;    // header: number of the piece; with its data
constexpr unsigned kArrivedId = 2;  // the same, of a piece that was put
constexpr unsigned kTakenId = 3;    // header: how many pieces the receiver has got, from the first on
constexpr uint32_t kPiecesPerTaken = kPiecesUnderWay / 4;
constexpr size_t kPageBytes = 4096;
constexpr size_t kMemoryBytes = size_t{kPiecesUnderWay} * kPieceBytesMax;

// Word i of what a piece holds.
uint64_t WordOf(uint32_t stream, uint32_t piece, uint64_t i) {
  return (((uint64_t{stream} << 32) | piece) + 1) * 0x9E3779B97F4A7C15u + i * 0xBF58476D1CE4E5B9u;
}

constexpr uint32_t kStreamsPerCell = 8;
constexpr uint32_t kPiecesTried = 4 * kPiecesUnderWay;

// What the receiver says after a stream.
struct Received {
  int64_t processor_ns = 0;
  bool ok = false;
};

int64_t ProcessorNs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

struct Took {
  int64_t ns = 0;
  int64_t processor_ns = 0;
};

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

// Piece i lies in slot i modulo kPiecesUnderWay of the sender's memory, and gets into that of the receiver's. A slot is
// used again once the receiver has said that its piece is there.
//
// Single-threaded. Either side sleeps in epoll while UCX has nothing to do, as the daemon does.
class TransferSide final : public PairSide {
 public:
  explicit TransferSide(TransferWay way) : way_(way), memory_(NewMemory()) {}
  ~TransferSide() override {
    if (remote_key_ != nullptr) ucp_rkey_destroy(remote_key_);
    ucx_.Disconnect();
    if (exported_ != nullptr) ucp_mem_unmap(ucx_.context(), exported_);
  }

  absl::Status Open() {
    RawUcxOptions options;
    if (way_ == TransferWay::kRendezvous) options.rendezvous_from = "0";
    if (way_ == TransferWay::kPut) options.features = UCP_FEATURE_RMA;
    RETURN_IF_ERROR(ucx_.Open(options));
    RETURN_IF_ERROR(ucx_.SetHandler(kPieceId, OnPiece, this));
    RETURN_IF_ERROR(ucx_.SetHandler(kArrivedId, OnArrived, this));
    RETURN_IF_ERROR(ucx_.SetHandler(kTakenId, OnTaken, this));
    if (way_ == TransferWay::kPut) RETURN_IF_ERROR(Export());
    if (way_ == TransferWay::kEager) aside_ = NewMemory();
    return absl::OkStatus();
  }

  // Where the memory is, and the key to it with its length if it is exported; then the worker's address.
  std::string Address() override {
    const auto base = reinterpret_cast<uint64_t>(memory_.get());
    std::string text(reinterpret_cast<const char*>(&base), sizeof(base));
    void* key = nullptr;
    size_t key_bytes = 0;
    if (exported_ != nullptr && ucp_rkey_pack(ucx_.context(), exported_, &key, &key_bytes) != UCS_OK) return "";
    text.append(reinterpret_cast<const char*>(&key_bytes), sizeof(key_bytes));
    if (key != nullptr) {
      text.append(static_cast<const char*>(key), key_bytes);
      ucp_rkey_buffer_release(key);
    }
    const std::string address = ucx_.Address();
    return address.empty() ? "" : text + address;
  }

  absl::Status Connect(const std::string& peer_address) override {
    size_t key_bytes = 0;
    const char* at = peer_address.data();
    if (peer_address.size() < sizeof(peer_memory_) + sizeof(key_bytes)) {
      return absl::UnavailableError("the other process has no address");
    }
    std::memcpy(&peer_memory_, at, sizeof(peer_memory_));
    std::memcpy(&key_bytes, at + sizeof(peer_memory_), sizeof(key_bytes));
    at += sizeof(peer_memory_) + sizeof(key_bytes);
    RETURN_IF_ERROR(ucx_.Connect(at + key_bytes));
    if (key_bytes == 0) return absl::OkStatus();
    return CheckUcx(ucp_ep_rkey_unpack(ucx_.endpoint(), at, &remote_key_), "ucp_ep_rkey_unpack");
  }

  absl::StatusOr<std::vector<double>> Measure(const PairEnd& pair, const PairArguments& arguments,
                                              size_t index) override {
    const PairArguments::Cell& cell = arguments.cells[index];
    RETURN_IF_ERROR(RunStream(pair, kPiecesTried, cell.bytes).status());
    ASSIGN_OR_RETURN(const Took trial, RunStream(pair, kPiecesTried, cell.bytes));
    const double fit = arguments.budget_us * 1e3 / kStreamsPerCell / static_cast<double>(trial.ns) * kPiecesTried;
    auto pieces = static_cast<uint32_t>(std::clamp<double>(fit, kPiecesUnderWay, arguments.count_max));
    pieces -= pieces % kPiecesUnderWay;
    std::vector<double> samples;
    for (uint32_t run = 0; run < kStreamsPerCell; ++run) {
      ASSIGN_OR_RETURN(const Took took, RunStream(pair, pieces, cell.bytes));
      const double bytes = static_cast<double>(pieces) * cell.bytes;
      samples.push_back(cell.mode == "processor" ? static_cast<double>(took.processor_ns) / 1000 / (bytes / (1 << 20))
                                                 : bytes * 1000 / static_cast<double>(took.ns));
    }
    return samples;
  }
  // A stream of no pieces ends the other process's Serve.
  absl::Status End(const PairEnd& pair) override { return pair.Notify(TransferStream()); }
  absl::Status Serve(const PairEnd& pair, const PairArguments&) override {
    for (;;) {
      TransferStream stream;
      RETURN_IF_ERROR(pair.Receive(&stream));
      if (stream.pieces == 0) return absl::OkStatus();
      RETURN_IF_ERROR(pair.Notify(true));
      const int64_t start = ProcessorNs();
      absl::Status status = Receive(stream);
      const int64_t took = ProcessorNs() - start;
      if (status.ok()) status = Verify(stream);
      RETURN_IF_ERROR(pair.Notify(Received{.processor_ns = took, .ok = status.ok()}));
      RETURN_IF_ERROR(status);
    }
  }

 private:
  struct Kept {
    uint64_t piece = 0;
    const void* data = nullptr;
    size_t bytes = 0;
    void* lent = nullptr;  // UCX's, to be given back
  };

  absl::StatusOr<Took> RunStream(const PairEnd& pair, uint32_t pieces, uint32_t bytes) {
    const TransferStream stream = {.number = ++streams_, .pieces = pieces, .bytes = bytes};
    Fill(stream);
    RETURN_IF_ERROR(pair.Notify(stream));
    bool ready = false;
    RETURN_IF_ERROR(pair.Receive(&ready));
    const int64_t start = absl::GetCurrentTimeNanos();
    const int64_t processor_start = ProcessorNs();
    RETURN_IF_ERROR(Send(stream));
    Took took = {.ns = absl::GetCurrentTimeNanos() - start, .processor_ns = ProcessorNs() - processor_start};
    Received received;
    RETURN_IF_ERROR(pair.Receive(&received));
    if (!received.ok) return absl::DataLossError("the receiver has got something else than was sent");
    took.processor_ns += received.processor_ns;
    return took;
  }

  void Fill(const TransferStream& stream) {
    piece_bytes_ = stream.bytes;
    for (uint32_t slot = 0; slot < kPiecesUnderWay; ++slot) {
      auto* words = reinterpret_cast<uint64_t*>(SlotOf(slot));
      for (uint64_t i = 0; i < stream.bytes / sizeof(uint64_t); ++i) words[i] = WordOf(stream.number, slot, i);
    }
  }

  // Returns once the receiver has said that it has all.
  absl::Status Send(const TransferStream& stream) {
    piece_bytes_ = stream.bytes;
    taken_ = 0;
    for (uint32_t i = 0; i < stream.pieces; ++i) {
      std::array<void*, 2>& requests = requests_[i % kPiecesUnderWay];
      while (i >= taken_ + kPiecesUnderWay || !UcxDone(&requests[0]) || !UcxDone(&requests[1])) RETURN_IF_ERROR(Wait());
      RETURN_IF_ERROR(SendPiece(stream, i));
    }
    while (taken_ < stream.pieces) RETURN_IF_ERROR(Wait());
    return FinishRequests();
  }

  absl::Status Receive(const TransferStream& stream) {
    piece_bytes_ = stream.bytes;
    uint32_t got = 0;
    while (got < stream.pieces) {
      RETURN_IF_ERROR(Wait());
      CopyKept();
      for (; arrived_[got % kPiecesUnderWay] && got < stream.pieces; ++got) {
        arrived_[got % kPiecesUnderWay] = false;
        if ((got + 1) % kPiecesPerTaken == 0) RETURN_IF_ERROR(SendTaken(got + 1));
      }
    }
    RETURN_IF_ERROR(FinishRequests());
    // The last message leaves the process only if somebody moves the network on.
    ucp_request_param_t param{};
    void* flush = ucp_worker_flush_nbx(ucx_.worker(), &param);
    while (!UcxDone(&flush)) RETURN_IF_ERROR(Wait());
    return absl::OkStatus();
  }

  // DATA_LOSS if a slot holds anything else than what was sent.
  absl::Status Verify(const TransferStream& stream) {
    for (uint32_t slot = 0; slot < kPiecesUnderWay; ++slot) {
      const auto* words = reinterpret_cast<const uint64_t*>(SlotOf(slot));
      for (uint64_t i = 0; i < stream.bytes / sizeof(uint64_t); ++i) {
        if (words[i] == WordOf(stream.number, slot, i)) continue;
        return absl::DataLossError(absl::StrCat("stream ", stream.number, ": slot ", slot, " is wrong from byte ",
                                                i * sizeof(uint64_t), " of ", stream.bytes));
      }
    }
    return absl::OkStatus();
  }

  // Slots lie together: a stride of a power of two would put all of them into the same lines of the caches.
  size_t OffsetOf(uint64_t piece) const { return piece % kPiecesUnderWay * piece_bytes_; }
  uint8_t* SlotOf(uint64_t piece) { return memory_.get() + OffsetOf(piece); }

  absl::Status Export() {
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = memory_.get();
    params.length = kMemoryBytes;
    return CheckUcx(ucp_mem_map(ucx_.context(), &params, &exported_), "ucp_mem_map");
  }

  absl::Status FinishRequests() {
    for (std::array<void*, 2>& requests : requests_) {
      while (!UcxDone(&requests[0]) || !UcxDone(&requests[1])) RETURN_IF_ERROR(Wait());
    }
    return absl::OkStatus();
  }

  // Moves the network on; sleeps if there is nothing to move.
  absl::Status Wait() {
    RETURN_IF_ERROR(ucx_.PeerStatus());
    return ucx_.Progress() ? absl::OkStatus() : ucx_.Sleep();
  }

  absl::Status SendPiece(const TransferStream& stream, uint32_t piece) {
    const uint32_t slot = piece % kPiecesUnderWay;
    headers_[slot] = piece;
    if (way_ != TransferWay::kPut) {
      return ucx_.Send(kPieceId, &headers_[slot], sizeof(headers_[slot]), SlotOf(piece), stream.bytes,
                       way_ == TransferWay::kRendezvous, &requests_[slot][0]);
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_MEMORY_TYPE;
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    const uint64_t to = peer_memory_ + OffsetOf(piece);
    requests_[slot][0] = ucp_put_nbx(ucx_.endpoint(), SlotOf(piece), stream.bytes, to, remote_key_, &param);
    if (UCS_PTR_IS_ERR(requests_[slot][0])) return CheckUcx(UCS_PTR_STATUS(requests_[slot][0]), "ucp_put_nbx");
    // The message must not be there before the piece.
    RETURN_IF_ERROR(CheckUcx(ucp_worker_fence(ucx_.worker()), "ucp_worker_fence"));
    return ucx_.Send(kArrivedId, &headers_[slot], sizeof(headers_[slot]), nullptr, 0, /*rendezvous=*/false,
                     &requests_[slot][1]);
  }

  absl::Status SendTaken(uint32_t count) {
    // The sender has not gone on to this slot's next use unless it has had this one's message.
    const uint32_t slot = (count - 1) % kPiecesUnderWay;
    while (!UcxDone(&requests_[slot][0])) RETURN_IF_ERROR(Wait());
    headers_[slot] = count;
    return ucx_.Send(kTakenId, &headers_[slot], sizeof(headers_[slot]), nullptr, 0, /*rendezvous=*/false,
                     &requests_[slot][0]);
  }

  void CopyKept() {
    for (const Kept& kept : kept_) {
      std::memcpy(SlotOf(kept.piece), kept.data, kept.bytes);
      if (kept.lent != nullptr) ucp_am_data_release(ucx_.worker(), kept.lent);
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
    auto* side = static_cast<TransferSide*>(argument);
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

  // Brings the data of a rendezvous.
  ucs_status_t FetchPiece(uint32_t slot, void* announced) {
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_MEMORY_TYPE |
                         UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    param.cb.recv_am = OnFetched;
    param.user_data = &arrived_[slot];
    param.memory_type = UCS_MEMORY_TYPE_HOST;
    void* request = ucp_am_recv_data_nbx(ucx_.worker(), announced, SlotOf(slot), piece_bytes_, &param);
    if (UCS_PTR_IS_ERR(request)) ucx_.Fail(UCS_PTR_STATUS(request));
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
      static_cast<TransferSide*>(argument)->arrived_[piece % kPiecesUnderWay] = true;
    }
    return UCS_OK;
  }

  static ucs_status_t OnTaken(void* argument, const void* header, size_t header_bytes, void*, size_t,
                              const ucp_am_recv_param_t*) {
    TakeNumber(header, header_bytes, &static_cast<TransferSide*>(argument)->taken_);
    return UCS_OK;
  }

  const TransferWay way_;
  const Memory memory_;
  Memory aside_;  // for what UCX does not lend
  ucp_mem_h exported_ = nullptr;
  ucp_rkey_h remote_key_ = nullptr;
  uint64_t peer_memory_ = 0;
  std::array<std::array<void*, 2>, kPiecesUnderWay> requests_ = {};
  std::array<uint64_t, kPiecesUnderWay> headers_ = {};  // UCX may read one until its request is done
  std::array<bool, kPiecesUnderWay> arrived_ = {};
  std::vector<Kept> kept_;
  size_t piece_bytes_ = 0;  // of the stream
  uint64_t taken_ = 0;
  uint32_t streams_ = 0;  // so far
  RawUcx ucx_;
};

absl::StatusOr<std::unique_ptr<PairSide>> OpenTransferSide(const PairArguments& arguments, uint32_t) {
  const auto* way = std::find(kWayNames.begin(), kWayNames.end(), arguments.system);
  if (way == kWayNames.end()) return absl::InvalidArgumentError("no such system");
  for (const PairArguments::Cell& cell : arguments.cells) {
    if ((cell.mode != "throughput" && cell.mode != "processor") || cell.bytes == 0 || cell.bytes > kPieceBytesMax ||
        cell.bytes % sizeof(uint64_t) != 0 || arguments.count_max < kPiecesUnderWay) {
      return absl::InvalidArgumentError(absl::StrCat("not a cell (mode=", cell.mode, ", bytes=", cell.bytes, ")"));
    }
  }
  auto side = std::make_unique<TransferSide>(static_cast<TransferWay>(way - kWayNames.begin()));
  RETURN_IF_ERROR(side->Open());
  return side;
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) { return copse::bench::PairMain(argc, argv, copse::bench::OpenTransferSide); }
