// SPDX-License-Identifier: Apache-2.0
//
// Says who this program is to its peers, and who they are: mutual TLS for gRPC.
#ifndef COPSE_RPC_IDENTITY_H_
#define COPSE_RPC_IDENTITY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/certificates/spiffe_id.h"
#include "base/certificates/x509.h"
#include "base/config/tls_files.h"
#include "base/mutex.h"
#include "rpc/judged_peers.h"

struct x509_store_st;
namespace grpc {
class ChannelCredentials;
class ServerCredentials;
namespace experimental {
class CertificateProviderInterface;
}
}  // namespace grpc

namespace copse::rpc {

// A PeerCertificate is what a peer has proven to have the key of. It is believed only after Identity::Check.
struct PeerCertificate {
  std::string certificate;  // PEM; empty: the peer showed none
  std::string chain;        // PEM: intermediate certificates
};

struct IdentityEnds {
  absl::Time certificate = absl::InfinitePast();  // this program's; InfinitePast: it cannot be read
  absl::Time list = absl::InfiniteFuture();       // the first authority's whose last revocation list ends
  std::string list_file;                          // has it; empty if there are no lists
};

// An Identity is a program's certificate with its key, and the authorities that it believes. The files are read again
// every kRefresh: new ones are used for new connections, without a restart. Thread-safe.
//
// gRPC's handshake asks a peer for a certificate and leaves judging it to this class. A client's check ends the
// handshake. A server's handshake ends the connections of strangers; whom an authority knows is checked before each
// call (Authorizer), since only there can a refused peer be told why. A client that was believed in the handshake is
// not verified anew for its calls within a short while, unless the files have changed (JudgedPeers).
class Identity : public std::enable_shared_from_this<Identity> {
 public:
  static constexpr absl::Duration kRefresh = absl::Seconds(10);

  // Reads the files. `roles` are those that the certificate may have; empty: any. Errors name key and file: those of
  // config::ReadTlsFiles; INVALID_ARGUMENT if a text cannot be read, the key does not fit, the certificate has no URI
  // spiffe://DOMAIN/ROLE/NAME, or another role; FAILED_PRECONDITION if the certificate has expired, or is not signed by
  // an authority of `tls_ca`.
  static absl::StatusOr<std::shared_ptr<const Identity>> Open(const config::TlsFiles& files,
                                                              const std::vector<std::string>& roles,
                                                              absl::Duration refresh = kRefresh);
  // Makes the same checks, and opens nothing. Returns who the program is.
  static absl::StatusOr<SpiffeId> CheckFiles(const config::TlsFiles& files, const std::vector<std::string>& roles);
  ~Identity();

  const SpiffeId& self() const { return self_; }

  // Returns who the peer is. UNAUTHENTICATED unless it has a certificate that is valid now, signed by an authority of
  // tls_ca, not revoked, and of this program's domain. `as_client`: the peer is the client of its connection.
  absl::StatusOr<CheckedPeer> Check(const PeerCertificate& peer, bool as_client) const;
  // Checks again, for a new list or authority, a peer that Check believed when its connection began. Neither its
  // certificate's end nor a list's counts: it has proven who it is. `as_client`: as in Check.
  absl::Status StillBelieves(const PeerCertificate& peer, bool as_client = true) const;
  // UNAUTHENTICATED unless an authority of tls_ca has signed the client's certificate, be it revoked or too old.
  absl::Status CheckSigned(const PeerCertificate& client) const;
  // Returns a number that grows when Check may judge otherwise than before because of the files: another authority, or
  // another revocation list.
  uint64_t generation() const;
  // Reads authorities and revocation lists again now.
  void Reread() const;
  // Returns when what was read last ends.
  IdentityEnds ends() const;
  // Adds the ends, in seconds since 1970, to a program's counters.
  void AppendCounters(std::map<std::string, uint64_t>* counters) const;

  // A server with these credentials has connections with clients that CheckSigned believes, and leaves judging them
  // further to its Authorizer.
  std::shared_ptr<grpc::ServerCredentials> ForServer() const;
  // A channel with these credentials connects only to servers that have one of the roles. Host names are not compared.
  std::shared_ptr<grpc::ChannelCredentials> ForChannel(std::vector<std::string> roles) const;

  enum class Judged : uint8_t {
    kAnew,
    kAgain,            // its time does not matter
    kSignaturesAlone,  // neither time nor revocation nor purpose matter
  };

 private:
  Identity(config::TlsFiles files, absl::Duration refresh) : files_(std::move(files)), refresh_(refresh) {}
  // Reads the files if that is due. An error keeps what was read before, and is logged.
  void Refresh() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WarnOfEnds(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Read() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckSelf(const std::vector<std::string>& roles);
  struct Judgment {
    x509::Certificate certificate;
    absl::Time until;     // a certificate of its chain, or a list, ends then
    uint64_t generation;  // of the files by which it was judged
  };
  absl::StatusOr<Judgment> Judge(const PeerCertificate& peer, int purpose, Judged judged) const;

  const config::TlsFiles files_;
  const absl::Duration refresh_;
  SpiffeId self_;
  // It watches certificate and key.
  std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
  mutable Mutex mutex_;
  mutable absl::Time next_read_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  mutable absl::Time next_warning_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();  // of ends
  mutable std::string trouble_ ABSL_GUARDED_BY(mutex_);  // of the last reading; it was logged
  mutable config::TlsTexts texts_ ABSL_GUARDED_BY(mutex_);
  mutable IdentityEnds ends_ ABSL_GUARDED_BY(mutex_);
  mutable std::shared_ptr<x509_store_st> store_ ABSL_GUARDED_BY(mutex_);
  mutable uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable JudgedPeers believed_ ABSL_GUARDED_BY(mutex_);  // by what was read last
};

// A certificate that ends within this time is named by logs and lists.
inline constexpr absl::Duration kEndsSoon = absl::Hours(14 * 24);
// So is a revocation list, which is made anew more often.
inline constexpr absl::Duration kListEndsSoon = absl::Hours(7 * 24);
// The names of AppendCounters.
inline constexpr char kCertificateEndsCounter[] = "tls.certificate_ends_at_s";
inline constexpr char kListEndsCounter[] = "tls.list_ends_at_s";
// Logs a warning if the certificate of `owner` ("node n1") ends soon.
void WarnOfEnd(const std::string& owner, absl::Time ends);

// Returns the reason in gRPC's message about a connection that could not be made, in words for an administrator:
// "failed to connect to all addresses; last error: UNKNOWN: ipv4:...: Failed to connect to remote host: Connection
// refused" has "Connection refused". `encrypted`: the channel has an Identity's credentials.
std::string WhyUnreachable(const absl::Status& status, bool encrypted);

}  // namespace copse::rpc

#endif  // COPSE_RPC_IDENTITY_H_
