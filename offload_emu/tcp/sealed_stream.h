// SPDX-License-Identifier: Apache-2.0
//
// Sends and receives sealed messages over one TCP connection.
#ifndef COPSE_OFFLOAD_EMU_TCP_SEALED_STREAM_H_
#define COPSE_OFFLOAD_EMU_TCP_SEALED_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "base/unique_fd.h"
#include "offload_emu/tcp/frame_cipher.h"
#include "offload_emu/tcp/socket_address.h"
#include "offload_emu/tcp/tls_handshake.h"
#include "offload_emu/tcp/wire_format.h"
#include "offload_emu/tcp/write_queue.h"

namespace copse::emu {

class SealedStream;

// A ReadBuffer is memory that streams read into, one after another, so that an idle stream needs none. It must outlive
// them.
struct ReadBuffer {
  static constexpr size_t kBytes = 256 * 1024;
  std::unique_ptr<uint8_t[]> memory{new uint8_t[kBytes]};  // uninitialized
  // Has bytes here that it has not consumed, and moves them when another stream reads. Null: nobody.
  SealedStream* holder = nullptr;
};

// A SealedStream is one TCP connection, from its beginning over the handshake to its end. It never blocks. After
// `fd()` has become readable (or writable, if wants_write()), call Advance until is_open(), and Write and Read from
// then on. Thread-compatible.
class SealedStream {
 public:
  // Connects to `address`. A failure is found by closed(), also one that happens at once.
  static std::unique_ptr<SealedStream> Dial(const SocketAddress& address, std::shared_ptr<const TlsIdentity> identity);
  // Takes over a connection that was accepted; the descriptor does not block.
  static std::unique_ptr<SealedStream> Accept(UniqueFd fd, std::shared_ptr<const TlsIdentity> identity);
  ~SealedStream() { ForgetUnread(); }

  int fd() const { return fd_.get(); }
  bool is_open() const { return state_ == State::kOpen; }  // the handshake is done
  bool closed() const { return state_ == State::kClosed; }
  // Returns why it is closed: UNAVAILABLE; PERMISSION_DENIED: this side or the peer does not believe the other.
  const absl::Status& why() const { return why_; }
  // Returns whether nobody listened at the address.
  bool was_refused() const { return was_refused_; }
  // Returns the node in the peer's certificate. Requires is_open().
  const std::string& peer() const { return peer_; }
  // Returns what the peer has shown. Requires is_open().
  const PeerChain& peer_chain() const { return *peer_chain_; }

  // Goes on with connecting and the handshake.
  void Advance();

  // Appends a message to what is to be written; `header.bytes` and the flag for encryption are set here. Requires
  // is_open().
  void Put(WireHeader header, absl::Span<const uint8_t> payload, bool encrypt);
  // The same for a payload that is not copied: it must stay as it is until it is not counted by lent() any more. `sum`
  // is that of its Copy over this stream, or none.
  void PutLent(WireHeader header, absl::Span<const uint8_t> payload, const PlainSum& sum = {});
  // Copies a payload's head and body to `out`, whence PutLent takes it. Requires is_open().
  PlainSum Copy(absl::Span<const uint8_t> head, absl::Span<const uint8_t> body, uint8_t* out) const {
    return sealer_->Copy(head, body, out);
  }
  // Returns the number of payloads that were lent and that the socket has not taken in whole; 0 if it is closed.
  size_t lent() const { return out_.lent(); }
  // Returns the number of bytes that were put and that the socket has not taken.
  size_t backlog() const { return out_.backlog(); }
  // Returns the number of bytes that the socket has taken so far.
  uint64_t taken() const { return out_.taken(); }
  // See WriteQueue.
  void SetPacketBytesMax(size_t bytes) { out_.SetPacketBytesMax(bytes); }
  // Writes as much as the socket takes.
  void Write();
  bool wants_write() const { return state_ == State::kConnecting || backlog() > 0; }

  // Reads what has arrived, and calls `take` with each message until it returns false; `payload` is valid during the
  // call. What is left is taken by the next call, even if nothing has arrived meanwhile. Returns whether a message was
  // taken.
  using Taker = absl::FunctionRef<bool(const WireHeader& header, absl::Span<const uint8_t> payload)>;
  bool Read(ReadBuffer* buffer, Taker take);

  // Closes it, for this reason. What was put and not written is lost.
  void Close(const absl::Status& why);

 private:
  enum class State : uint8_t { kConnecting, kHandshake, kOpen, kClosed };
  static constexpr size_t kSealedHeaderBytes = sizeof(WireHeader) + kTagBytes;

  SealedStream(UniqueFd fd, State state, std::shared_ptr<const TlsIdentity> identity, bool is_server);

  void Handshake();
  void BeginFrames();
  uint8_t* AppendHeader(WireHeader header, size_t payload_bytes, size_t more_bytes);
  // Takes messages from `input`, and returns the number of bytes that were consumed.
  size_t TakeMessages(absl::Span<uint8_t> input, Taker take);
  // Opens the header at the beginning of `input`; closes the stream if it is not the peer's.
  bool OpenHeader(absl::Span<uint8_t> input);
  // Makes this stream the buffer's holder.
  void Hold(ReadBuffer* buffer);
  // Moves what is unread out of the buffer, which another stream needs.
  void LeaveBuffer();
  void ForgetUnread();
  absl::Span<uint8_t> unread() { return held_ != nullptr ? held_unread_ : absl::MakeSpan(kept_); }
  // Takes messages from what is unread.
  void TakeUnread(Taker take);
  // Returns where the next bytes go, behind what is unread in the buffer.
  absl::Span<uint8_t> MakeRoom();
  // The socket has no more input: closed by the peer (0), or an error.
  void EndOfInput(int error);
  bool OpenPayload(absl::Span<uint8_t> payload, const uint8_t* tag);

  UniqueFd fd_;
  State state_;
  absl::Status why_;
  bool was_refused_ = false;
  std::unique_ptr<TlsHandshake> handshake_;  // null after the first message was opened
  std::string peer_;
  std::shared_ptr<const PeerChain> peer_chain_;
  std::optional<FrameCipher> sealer_;
  std::optional<FrameCipher> opener_;

  WriteQueue out_;
  // Bytes that were read and not consumed are in the buffer that this stream holds; else in kept_.
  ReadBuffer* held_ = nullptr;
  absl::Span<uint8_t> held_unread_;
  std::vector<uint8_t> kept_;
  std::optional<WireHeader> header_;  // of a message whose payload has not arrived in whole
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_SEALED_STREAM_H_
