// SPDX-License-Identifier: Apache-2.0
#include "cli/exporter/https_identity.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string>

#include "absl/time/clock.h"
#include "base/certificates/x509.h"
#include "base/log.h"
#include "base/status_macros.h"

namespace copse::exporter {
namespace {

void FreeAll(STACK_OF(X509) * certificates) { sk_X509_pop_free(certificates, X509_free); }
using Certificates = std::unique_ptr<STACK_OF(X509), x509::FreeBy<FreeAll>>;

std::string PemOf(X509* certificate) {
  const x509::Bio memory(BIO_new(BIO_s_mem()));
  char* text = nullptr;
  if (PEM_write_bio_X509(memory.get(), certificate) != 1) return "";
  const auto length = BIO_get_mem_data(memory.get(), &text);
  return {text, static_cast<size_t>(length)};
}

rpc::PeerCertificate PeerOf(const SSL* session) {
  rpc::PeerCertificate peer;
  if (X509* const own = SSL_get0_peer_certificate(session); own != nullptr) peer.certificate = PemOf(own);
  // On the server's side the chain leaves the client's own certificate out.
  const STACK_OF(X509)* const others = SSL_get_peer_cert_chain(session);
  for (int i = 0; i < sk_X509_num(others); ++i) peer.chain += PemOf(sk_X509_value(others, i));
  return peer;
}

}  // namespace

// A Shown is a certificate with its key.
struct HttpsIdentity::Shown {
  x509::Certificate certificate;
  x509::PrivateKey key;
  Certificates others;  // intermediate ones

  // Returns null if the texts cannot be read, or key and certificate do not fit.
  static std::shared_ptr<const Shown> Read(const config::TlsTexts& texts) {
    const x509::Bio reader = x509::Reader(texts.certificate);
    auto shown = std::make_shared<Shown>();
    shown->certificate = x509::ReadCertificate(reader.get());
    shown->key = x509::ReadPrivateKey(texts.key);
    shown->others.reset(sk_X509_new_null());
    while (x509::Certificate next = x509::ReadCertificate(reader.get())) {
      sk_X509_push(shown->others.get(), next.release());
    }
    const bool fits = shown->certificate != nullptr && shown->key != nullptr &&
                      X509_check_private_key(shown->certificate.get(), shown->key.get()) == 1;
    return fits ? shown : nullptr;
  }
};

absl::StatusOr<std::unique_ptr<HttpsIdentity>> HttpsIdentity::Open(const config::TlsFiles& files) {
  ASSIGN_OR_RETURN(auto identity, rpc::Identity::Open(files, {}));
  return std::unique_ptr<HttpsIdentity>(new HttpsIdentity(files, std::move(identity)));
}

HttpsIdentity::~HttpsIdentity() = default;

std::shared_ptr<const HttpsIdentity::Shown> HttpsIdentity::Current() {
  const MutexLock lock(&mutex_);
  if (absl::Now() < next_read_) return shown_;
  next_read_ = absl::Now() + rpc::Identity::kRefresh;
  const absl::StatusOr<config::TlsTexts> texts = config::ReadTlsFiles(files_);
  // Certificate and key are replaced one after the other; what fits is kept meanwhile.
  if (std::shared_ptr<const Shown> read = texts.ok() ? Shown::Read(*texts) : nullptr; read != nullptr) {
    shown_ = std::move(read);
  } else {
    COPSE_LOG(kWarning, "certificate and key cannot be used, or do not fit (tls_cert=", files_.certificate,
              ", tls_key=", files_.key, ")");
  }
  return shown_;
}

bool HttpsIdentity::Prepare(SSL_CTX* context) {
  const auto show = [](SSL* session, void* self) {
    const std::shared_ptr<const Shown> shown = static_cast<HttpsIdentity*>(self)->Current();
    return shown == nullptr ? 0
                            : SSL_use_cert_and_key(session, shown->certificate.get(), shown->key.get(),
                                                   shown->others.get(), /*override=*/1);
  };
  SSL_CTX_set_cert_cb(context, show, this);
  // Check judges certificates.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, [](int, X509_STORE_CTX*) { return 1; });
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  return SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
}

absl::Status HttpsIdentity::Check(const SSL* session) const {
  return identity_->Check(PeerOf(session), /*as_client=*/true).status();
}

}  // namespace copse::exporter
