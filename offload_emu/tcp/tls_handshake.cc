// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/tls_handshake.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::emu {
namespace {

// A TLS record is a type, a version of two bytes, and a length of two bytes, before its content.
constexpr size_t kRecordHeaderBytes = 5;
constexpr size_t kRecordBytesMax = kRecordHeaderBytes + (1 << 14) + 256;
constexpr uint8_t kRecordTypeMin = 20;
constexpr uint8_t kRecordTypeMax = 23;

constexpr std::string_view kExportLabel = "EXPORTER-copse-frames";

std::string LastError() {
  const unsigned long error = ERR_peek_last_error();
  const char* const reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  ERR_clear_error();
  return reason == nullptr ? "unknown reason" : reason;
}

// Returns the length of the record at the beginning of `input`; 0 if not all of it is there.
absl::StatusOr<size_t> RecordBytes(absl::Span<const uint8_t> input) {
  if (!input.empty() && (input[0] < kRecordTypeMin || input[0] > kRecordTypeMax)) {
    return absl::InvalidArgumentError(absl::StrCat("no TLS record (type=", input[0], ")"));
  }
  if (input.size() < kRecordHeaderBytes) return 0;
  const size_t bytes = kRecordHeaderBytes + (size_t{input[3]} << 8) + input[4];
  if (input[1] != 3 || bytes > kRecordBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("no TLS record (version=", input[1], ", bytes=", bytes, ", limit=", kRecordBytesMax, ")"));
  }
  return bytes <= input.size() ? bytes : 0;
}

}  // namespace

TlsHandshake::TlsHandshake(std::shared_ptr<const TlsIdentity> identity, bool is_server)
    : identity_(std::move(identity)),
      is_server_(is_server),
      session_(identity_->NewSession(is_server)),
      input_(BIO_new(BIO_s_mem())),
      output_(BIO_new(BIO_s_mem())) {
  CHECK(input_ != nullptr && output_ != nullptr);
  SSL_set_bio(session_, input_, output_);
  if (!is_server) {
    // Nothing can be wrong yet.
    const absl::Status begun = Advance();
    CHECK(begun.ok());
  }
}

TlsHandshake::~TlsHandshake() { SSL_free(session_); }

absl::Status TlsHandshake::Advance() {
  ERR_clear_error();
  const int result = SSL_do_handshake(session_);
  if (result == 1) {
    ASSIGN_OR_RETURN(peer_, identity_->PeerOf(session_));
    done_ = true;
    return absl::OkStatus();
  }
  if (SSL_get_error(session_, result) == SSL_ERROR_WANT_READ) return absl::OkStatus();
  const long verified = SSL_get_verify_result(session_);
  const std::string why =
      verified == X509_V_OK ? LastError() : absl::StrCat("certificate: ", X509_verify_cert_error_string(verified));
  ERR_clear_error();
  return absl::PermissionDeniedError(absl::StrCat("TLS: ", why));
}

absl::StatusOr<size_t> TlsHandshake::Take(absl::Span<const uint8_t> input) {
  size_t taken = 0;
  while (!done_) {
    ASSIGN_OR_RETURN(const size_t bytes, RecordBytes(input.subspan(taken)));
    if (bytes == 0) break;
    CHECK(BIO_write(input_, input.data() + taken, static_cast<int>(bytes)) == static_cast<int>(bytes));
    taken += bytes;
    RETURN_IF_ERROR(Advance());
  }
  return taken;
}

std::string TlsHandshake::TakeOutput() {
  std::string output(BIO_ctrl_pending(output_), '\0');
  if (!output.empty()) BIO_read(output_, output.data(), static_cast<int>(output.size()));
  return output;
}

CipherKey TlsHandshake::KeyOf(bool of_server) const {
  CHECK(done_);
  CipherKey key;
  unsigned char secret[sizeof(key.key) + sizeof(key.nonce)];
  const unsigned char direction = of_server ? 1 : 0;
  CHECK(SSL_export_keying_material(session_, secret, sizeof(secret), kExportLabel.data(), kExportLabel.size(),
                                   &direction, 1, 1) == 1);
  std::copy_n(secret, key.key.size(), key.key.begin());
  std::copy_n(secret + key.key.size(), key.nonce.size(), key.nonce.begin());
  OPENSSL_cleanse(secret, sizeof(secret));
  return key;
}

CipherKey TlsHandshake::SendKey() const { return KeyOf(is_server_); }
CipherKey TlsHandshake::ReceiveKey() const { return KeyOf(!is_server_); }

absl::Status TlsHandshake::RefusalIn(absl::Span<const uint8_t> input) {
  const absl::StatusOr<size_t> bytes = RecordBytes(input);
  if (!bytes.ok() || *bytes == 0) return absl::OkStatus();
  ERR_clear_error();
  BIO_write(input_, input.data(), static_cast<int>(*bytes));
  char nothing = 0;
  const int result = SSL_read(session_, &nothing, 1);
  if (result > 0 || SSL_get_error(session_, result) != SSL_ERROR_SSL) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrCat("TLS: refused by the peer: ", LastError()));
}

}  // namespace copse::emu
