// SPDX-License-Identifier: Apache-2.0
//
// Runs a TLS handshake over a byte stream that others read and write.
#ifndef COPSE_OFFLOAD_EMU_TCP_TLS_HANDSHAKE_H_
#define COPSE_OFFLOAD_EMU_TCP_TLS_HANDSHAKE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "offload_emu/tcp/frame_cipher.h"
#include "offload_emu/tcp/tls_identity.h"

struct bio_st;

namespace copse::emu {

// A TlsHandshake is one side of a handshake. TLS ends with it: what follows on the stream is sealed with keys that both
// sides derive from the session (RFC 8446, section 7.5), one for each direction. Thread-compatible.
//
// Take is called with what the peer has sent, and what TakeOutput returns is sent to it, until done().
class TlsHandshake {
 public:
  TlsHandshake(std::shared_ptr<const TlsIdentity> identity, bool is_server);
  TlsHandshake(const TlsHandshake&) = delete;
  TlsHandshake& operator=(const TlsHandshake&) = delete;
  ~TlsHandshake();

  // Consumes whole TLS records at the beginning of `input`, but none after the last one of the handshake. Returns their
  // length in bytes. PERMISSION_DENIED: the peer is not believed, or does not believe this side; the output may tell it
  // why. INVALID_ARGUMENT: the input is no TLS.
  absl::StatusOr<size_t> Take(absl::Span<const uint8_t> input);
  // Returns what the peer must get, and forgets it.
  std::string TakeOutput();
  bool done() const { return done_; }

  // --- After the handshake ---
  // Returns the peer's node, as TlsIdentity::PeerOf.
  const std::string& peer() const { return peer_; }
  // Returns what the peer has shown; it outlives the handshake.
  std::shared_ptr<const PeerChain> peer_chain() const { return std::make_shared<PeerChain>(session_); }
  // Returns the keys for what this side sends, and for what it receives.
  CipherKey SendKey() const;
  CipherKey ReceiveKey() const;
  // A client is done before the server has checked its certificate. If `input` is the server's refusal, returns
  // PERMISSION_DENIED with the reason, else OK.
  absl::Status RefusalIn(absl::Span<const uint8_t> input);

 private:
  absl::Status Advance();
  CipherKey KeyOf(bool of_server) const;

  const std::shared_ptr<const TlsIdentity> identity_;
  const bool is_server_;
  ssl_st* const session_;
  bio_st* const input_;   // owned by session_
  bio_st* const output_;  // owned by session_
  bool done_ = false;
  std::string peer_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TLS_HANDSHAKE_H_
