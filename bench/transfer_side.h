// SPDX-License-Identifier: Apache-2.0
//
// One of two processes, the first of which sends pieces of memory to the other by UCX.
#ifndef COPSE_BENCH_TRANSFER_SIDE_H_
#define COPSE_BENCH_TRANSFER_SIDE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace copse::bench {

inline constexpr uint32_t kPiecesUnderWay = 16;
inline constexpr uint32_t kPieceBytesMax = 1 << 20;

enum class TransferWay {
  kEagerCopied,  // active messages with the data; their handler copies to where it belongs
  kEager,        // the handler keeps what UCX lends, else copies it aside; copied to where it belongs later
  kRendezvous,   // active messages that announce the data, which UCX then brings to where it belongs
  kPut,          // into memory that the receiver has exported, and a message without data after each piece
};

// Same values at both sides. The count is a multiple of kPiecesUnderWay, bytes one of 8 and at most kPieceBytesMax.
struct TransferStream {
  uint32_t number = 0;  // what the pieces hold depends on it
  uint32_t pieces = 0;
  uint32_t bytes = 0;        // of each
  uint32_t checks_each = 0;  // 1: no two pieces are alike, and each is compared; 0: those of the last window are
};

// Piece i lies in slot i modulo kPiecesUnderWay of the sender's memory, and gets into that of the receiver's. A slot is
// used again once the receiver has said that its piece is there.
//
// Calls: Address, Connect, then for each stream Fill and Send, or Receive and Verify. Single-threaded. Either sleeps in
// epoll while UCX has nothing to do, as the daemon does.
class TransferSide {
 public:
  virtual ~TransferSide() = default;
  virtual std::string Address() = 0;
  virtual absl::Status Connect(const std::string& peer_address) = 0;
  virtual void Fill(const TransferStream& stream) = 0;
  // Returns once the receiver has said that it has all.
  virtual absl::Status Send(const TransferStream& stream) = 0;
  // DATA_LOSS if a piece holds anything else than what was sent.
  virtual absl::Status Receive(const TransferStream& stream) = 0;
  virtual absl::Status Verify(const TransferStream& stream) = 0;
};

absl::StatusOr<std::unique_ptr<TransferSide>> NewTransferSide(TransferWay way);

}  // namespace copse::bench

#endif  // COPSE_BENCH_TRANSFER_SIDE_H_
