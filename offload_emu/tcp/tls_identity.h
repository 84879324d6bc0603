// SPDX-License-Identifier: Apache-2.0
//
// Says who this node is on the wire, and whom it believes.
#ifndef COPSE_OFFLOAD_EMU_TCP_TLS_IDENTITY_H_
#define COPSE_OFFLOAD_EMU_TCP_TLS_IDENTITY_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

struct ssl_ctx_st;
struct ssl_st;
struct stack_st_X509;
struct x509_st;

namespace copse::emu {

// A PeerChain is the certificate that a peer has proven to have the key of, and the intermediate ones that it sent.
// Immutable.
class PeerChain {
 public:
  // Takes references to what the peer of a session has shown; `certificate` may be null.
  explicit PeerChain(const ssl_st* session);
  PeerChain(const PeerChain&) = delete;
  PeerChain& operator=(const PeerChain&) = delete;
  ~PeerChain();

  x509_st* certificate() const { return certificate_; }
  stack_st_X509* others() const { return others_; }

 private:
  x509_st* const certificate_;
  stack_st_X509* const others_;
};

// A TlsIdentity makes TLS 1.3 sessions in which both sides prove who they are. Immutable; thread-safe.
//
// A daemon is the node that its certificate names, by the URI spiffe://DOMAIN/node/NAME, and it believes certificates
// of the same authority and the same DOMAIN whose role is `node`.
class TlsIdentity {
 public:
  // Reads PEM text: the node's certificate, followed by intermediate ones if there are any; its private key; the
  // authorities' certificates; and revocation lists, which may be empty. With a list, a certificate whose authority has
  // no valid list is not believed. INVALID_ARGUMENT if a text cannot be read, key and certificate do not fit, or the
  // certificate does not name a node.
  static absl::StatusOr<std::shared_ptr<const TlsIdentity>> FromCertificates(const std::string& certificate,
                                                                             const std::string& key,
                                                                             const std::string& authorities,
                                                                             const std::string& revoked = "");

  TlsIdentity(const TlsIdentity&) = delete;
  TlsIdentity& operator=(const TlsIdentity&) = delete;
  ~TlsIdentity();

  // Returns the name in this node's certificate.
  const std::string& node() const { return node_; }

  // Returns a new session, which the caller owns. It refers to this object.
  ssl_st* NewSession(bool is_server) const;
  // Returns the node that the peer of a session is, after the handshake. PERMISSION_DENIED if its certificate names no
  // node of this domain.
  absl::StatusOr<std::string> PeerOf(const ssl_st* session) const;
  // Returns OK if this identity would believe the peer of a connection that another one has made. PERMISSION_DENIED if
  // its certificate is revoked, or is of other authorities or another domain; not if it has expired meanwhile, for
  // which no running team has to end. Takes some 100 us.
  absl::Status StillBelieves(const PeerChain& peer) const;

 private:
  explicit TlsIdentity(ssl_ctx_st* context) : context_(context) {}
  absl::StatusOr<std::string> NodeIn(const x509_st* certificate) const;

  ssl_ctx_st* const context_;
  std::string domain_;
  std::string node_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_TCP_TLS_IDENTITY_H_
