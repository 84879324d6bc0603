// SPDX-License-Identifier: Apache-2.0
#include "offload_emu/tcp/tls_identity.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <optional>

#include "absl/strings/str_cat.h"
#include "base/certificates/spiffe_id.h"
#include "base/certificates/x509.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace copse::emu {
namespace {

using x509::Bio;
using x509::Certificate;
using x509::ReadCertificate;
using x509::StoreContext;
using Context = std::unique_ptr<SSL_CTX, x509::FreeBy<SSL_CTX_free>>;

absl::Status Invalid(std::string_view what) {
  char reason[256] = "";
  const unsigned long error = ERR_get_error();
  if (error != 0) ERR_error_string_n(error, reason, sizeof(reason));
  ERR_clear_error();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(what.data(), what.size()), *reason == 0 ? "" : ": ", reason));
}

// Returns what the certificate names, or nullopt unless it names exactly one node.
std::optional<SpiffeId> NameIn(const X509* certificate) {
  std::optional<SpiffeId> name = ParseSpiffeId(x509::UriOf(certificate));
  if (!name.has_value() || name->role != "node") return std::nullopt;
  return name;
}

// Returns a context that speaks TLS 1.3 with AES-256 alone, without tickets: each connection is authenticated anew.
absl::StatusOr<Context> NewContext() {
  Context context(SSL_CTX_new(TLS_method()));
  if (context == nullptr || SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION) != 1 ||
      SSL_CTX_set_ciphersuites(context.get(), "TLS_AES_256_GCM_SHA384") != 1 ||
      SSL_CTX_set_num_tickets(context.get(), 0) != 1) {
    return Invalid("TLS 1.3 is not available");
  }
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

absl::Status UseCertificate(SSL_CTX* context, const std::string& text) {
  const Bio reader = x509::Reader(text);
  const Certificate certificate = ReadCertificate(reader.get());
  if (certificate == nullptr || SSL_CTX_use_certificate(context, certificate.get()) != 1) {
    return Invalid("the certificate cannot be read");
  }
  while (const Certificate next = ReadCertificate(reader.get())) {
    if (SSL_CTX_add1_chain_cert(context, next.get()) != 1) return Invalid("an intermediate certificate is not usable");
  }
  return absl::OkStatus();
}

absl::Status UseAuthorities(SSL_CTX* context, const std::string& authorities, const std::string& revoked) {
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  if (x509::AddAuthorities(store, authorities) == 0) return Invalid("the authorities' certificates cannot be read");
  if (!revoked.empty() && x509::AddRevocationLists(store, revoked) == 0) {
    return Invalid("the revocation lists cannot be read");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const TlsIdentity>> TlsIdentity::FromCertificates(const std::string& certificate,
                                                                                 const std::string& key,
                                                                                 const std::string& authorities,
                                                                                 const std::string& revoked) {
  ASSIGN_OR_RETURN(Context context, NewContext());
  RETURN_IF_ERROR(UseCertificate(context.get(), certificate));
  const x509::PrivateKey private_key = x509::ReadPrivateKey(key);
  if (private_key == nullptr || SSL_CTX_use_PrivateKey(context.get(), private_key.get()) != 1) {
    return Invalid("the private key cannot be read, or does not fit the certificate");
  }
  RETURN_IF_ERROR(UseAuthorities(context.get(), authorities, revoked));
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  const std::optional<SpiffeId> name = NameIn(SSL_CTX_get0_certificate(context.get()));
  if (!name.has_value()) {
    return absl::InvalidArgumentError("the certificate names no node (wanted=spiffe://DOMAIN/node/NAME, one URI)");
  }
  std::shared_ptr<TlsIdentity> identity(new TlsIdentity(context.release()));
  identity->domain_ = name->domain;
  identity->node_ = name->name;
  return identity;
}

TlsIdentity::~TlsIdentity() { SSL_CTX_free(context_); }

ssl_st* TlsIdentity::NewSession(bool is_server) const {
  SSL* const session = SSL_new(context_);
  CHECK(session != nullptr);
  if (is_server) {
    SSL_set_accept_state(session);
  } else {
    SSL_set_connect_state(session);
  }
  return session;
}

absl::StatusOr<std::string> TlsIdentity::PeerOf(const ssl_st* session) const {
  return NodeIn(SSL_get0_peer_certificate(session));
}

absl::StatusOr<std::string> TlsIdentity::NodeIn(const x509_st* certificate) const {
  const std::optional<SpiffeId> name = certificate == nullptr ? std::nullopt : NameIn(certificate);
  if (!name.has_value()) {
    return absl::PermissionDeniedError("the peer's certificate names no node (wanted=spiffe://DOMAIN/node/NAME)");
  }
  if (name->domain != domain_) {
    return absl::PermissionDeniedError(
        absl::StrCat("the peer is of another domain (domain=", name->domain, ", ours=", domain_, ")"));
  }
  return name->name;
}

absl::Status TlsIdentity::StillBelieves(const PeerChain& peer) const {
  const StoreContext check(X509_STORE_CTX_new());
  if (check == nullptr ||
      X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context_), peer.certificate(), peer.others()) != 1) {
    return absl::PermissionDeniedError("the peer's certificate cannot be checked");
  }
  // Expiry is not checked: the peer was authenticated while its certificate was valid, and a connection that is never
  // checked again outlives its certificate, too.
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(check.get()), X509_V_FLAG_NO_CHECK_TIME);
  const bool is_valid = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (!is_valid) {
    return absl::PermissionDeniedError(
        absl::StrCat("the peer's certificate: ", X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()))));
  }
  return NodeIn(peer.certificate()).status();
}

PeerChain::PeerChain(const ssl_st* session)
    : certificate_(SSL_get1_peer_certificate(session)),
      others_(SSL_get_peer_cert_chain(session) == nullptr ? nullptr
                                                          : X509_chain_up_ref(SSL_get_peer_cert_chain(session))) {}

PeerChain::~PeerChain() {
  X509_free(certificate_);
  sk_X509_pop_free(others_, X509_free);
}

}  // namespace copse::emu
