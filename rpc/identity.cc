// SPDX-License-Identifier: Apache-2.0
#include "rpc/identity.h"

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/certificates/x509.h"
#include "base/encoding/sha256.h"
#include "base/log.h"
#include "base/secret.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "rpc/status.h"

namespace copse::rpc {
namespace {

constexpr absl::Duration kWarnOfEndEvery = absl::Hours(24);
constexpr absl::Duration kWarnOfStrangersEvery = absl::Minutes(1);
constexpr char kWantedUri[] = "spiffe://DOMAIN/ROLE/NAME";
constexpr char kNotSigned[] = "is not signed by an authority of tls_ca";

using x509::AddAuthorities;
using x509::AddRevocationLists;
using x509::Bio;
using x509::Certificate;
using x509::PrivateKey;
using x509::ReadCertificate;
using x509::Reader;
using x509::ReadPrivateKey;
using x509::ReadRevocationList;
using x509::RevocationList;
using x509::Store;
using x509::StoreContext;
using x509::UriOf;

void FreeStack(STACK_OF(X509) * stack) { sk_X509_pop_free(stack, X509_free); }
using CertificateStack = std::unique_ptr<STACK_OF(X509), x509::FreeBy<FreeStack>>;

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&parts));
}

std::string Day(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

std::string Shown(const std::string& uri) { return uri.empty() ? "without a URI" : uri; }

absl::StatusOr<Store> MakeStore(const config::TlsTexts& texts) {
  Store store(X509_STORE_new());
  if (AddAuthorities(store.get(), texts.authorities) == 0) {
    return absl::InvalidArgumentError("tls_ca: no certificate can be read from it");
  }
  if (!texts.lists.empty() && AddRevocationLists(store.get(), texts.revoked()) == 0) {
    return absl::InvalidArgumentError("tls_crl_dir: no revocation list can be read from it");
  }
  return store;
}

// An authority's last list counts, and a list without an end has none.
IdentityEnds EndsOf(const config::TlsTexts& texts) {
  std::map<std::string, std::pair<absl::Time, std::string>> last;  // by authority
  for (const config::TlsList& file : texts.lists) {
    const Bio reader = Reader(file.text);
    while (const RevocationList list = ReadRevocationList(reader.get())) {
      const ASN1_TIME* const next = X509_CRL_get0_nextUpdate(list.get());
      const absl::Time ends = next == nullptr ? absl::InfiniteFuture() : TimeOf(next);
      char issuer[256];
      auto& [time, path] = last[X509_NAME_oneline(X509_CRL_get_issuer(list.get()), issuer, sizeof(issuer))];
      if (path.empty() || ends > time) std::tie(time, path) = std::pair(ends, file.path);
    }
  }
  const Certificate certificate = ReadCertificate(Reader(texts.certificate).get());
  IdentityEnds ends;
  ends.certificate = certificate == nullptr ? absl::InfinitePast() : TimeOf(X509_get0_notAfter(certificate.get()));
  for (const auto& [issuer, list] : last) {
    if (ends.list_file.empty() || list.first < ends.list) std::tie(ends.list, ends.list_file) = list;
  }
  return ends;
}

// Returns what is wrong with a certificate, for the error of X509_verify_cert. `depth`: of the certificate of its chain
// that has it; 0: its own.
std::string Wrong(int error, int depth, const X509* certificate) {
  const absl::Time ends = TimeOf(X509_get0_notAfter(certificate));
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return absl::StrCat("has expired (ended=", Day(ends), ")");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return absl::StrCat("is not valid yet: is this machine's clock right? (begins=",
                          Day(TimeOf(X509_get0_notBefore(certificate))), ", now=", Day(absl::Now()), ")");
    case X509_V_ERR_CERT_REVOKED:
      return depth == 0 ? "is revoked" : "has an authority that is revoked";
    case X509_V_ERR_UNABLE_TO_GET_CRL:
      return "has an authority without a revocation list in tls_crl_dir";
    case X509_V_ERR_CRL_HAS_EXPIRED:
      return "has an authority whose revocation list in tls_crl_dir has expired";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return kNotSigned;
    default:
      return absl::StrCat("is not valid: ", X509_verify_cert_error_string(error));
  }
}

using Judged = Identity::Judged;

void SetUp(X509_STORE_CTX* context, Judged judged, int purpose) {
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context);
  if (judged != Judged::kAnew) X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_NO_CHECK_TIME);
  if (judged == Judged::kSignaturesAlone) {
    X509_VERIFY_PARAM_clear_flags(parameters, X509_V_FLAG_CRL_CHECK);
  } else {
    X509_STORE_CTX_set_purpose(context, purpose);
  }
}

absl::Time FirstEndOf(const STACK_OF(X509) * chain) {
  absl::Time first = absl::InfiniteFuture();
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    first = std::min(first, TimeOf(X509_get0_notAfter(sk_X509_value(chain, i))));
  }
  return first;
}

// Returns when the first certificate of its chain ends if the certificate is to be believed, else what is wrong with
// it.
absl::StatusOr<absl::Time> Verify(X509_STORE* store, X509* certificate, const std::string& chain_text, int purpose,
                                  Judged judged) {
  const CertificateStack chain(sk_X509_new_null());
  const Bio reader = Reader(chain_text);
  while (Certificate next = ReadCertificate(reader.get())) sk_X509_push(chain.get(), next.release());
  const StoreContext context(X509_STORE_CTX_new());
  if (X509_STORE_CTX_init(context.get(), store, certificate, chain.get()) != 1) {
    return absl::UnauthenticatedError("cannot be checked");
  }
  SetUp(context.get(), judged, purpose);
  const bool valid = X509_verify_cert(context.get()) == 1;
  ERR_clear_error();
  if (valid) return FirstEndOf(X509_STORE_CTX_get0_chain(context.get()));
  return absl::UnauthenticatedError(
      Wrong(X509_STORE_CTX_get_error(context.get()), X509_STORE_CTX_get_error_depth(context.get()), certificate));
}

// Returns a hash of all on which Check's answer depends but the files and the time.
std::string HashOf(const PeerCertificate& peer, bool as_client) {
  return Sha256(
      absl::StrCat(as_client ? "client " : "server ", peer.certificate.size(), " ", peer.certificate, peer.chain));
}

PeerCertificate ShownIn(const grpc::experimental::TlsCustomVerificationCheckRequest& request) {
  const auto text = [](grpc::string_ref ref) { return std::string(ref.data(), ref.size()); };
  return {text(request.peer_cert()), text(request.peer_cert_full_chain())};
}

// A ServerVerifier lets a client connect only to servers that have one of the roles.
class ServerVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  ServerVerifier(std::shared_ptr<const Identity> identity, std::vector<std::string> roles)
      : identity_(std::move(identity)), roles_(std::move(roles)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    const absl::StatusOr<CheckedPeer> peer = identity_->Check(ShownIn(*request), /*as_client=*/false);
    *sync_status = ToGrpc(peer.ok() ? CheckRole(peer->id) : peer.status());
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  absl::Status CheckRole(const SpiffeId& id) const {
    if (std::find(roles_.begin(), roles_.end(), id.role) != roles_.end()) return absl::OkStatus();
    return absl::UnauthenticatedError(absl::StrCat("the server has another role (certificate=", id.ToUri(), ", role=",
                                                   id.role, ", wanted=", absl::StrJoin(roles_, " or "), ")"));
  }

  const std::shared_ptr<const Identity> identity_;
  const std::vector<std::string> roles_;
};

// A ClientVerifier ends the handshakes of strangers. gRPC tells it no addresses.
class ClientVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit ClientVerifier(std::shared_ptr<const Identity> identity) : identity_(std::move(identity)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    const absl::Status known = identity_->CheckSigned(ShownIn(*request));
    if (!known.ok() && IsDue()) COPSE_LOG(kWarning, "a connection is refused: ", known.message());
    *sync_status = ToGrpc(known);
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  // Returns whether this is the first refusal for a while.
  bool IsDue() {
    const absl::Time now = absl::Now();
    const MutexLock lock(&mutex_);
    if (now < next_warning_) return false;
    next_warning_ = now + kWarnOfStrangersEvery;
    return true;
  }

  const std::shared_ptr<const Identity> identity_;
  Mutex mutex_;
  absl::Time next_warning_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace

absl::StatusOr<std::shared_ptr<const Identity>> Identity::Open(const config::TlsFiles& files,
                                                               const std::vector<std::string>& roles,
                                                               absl::Duration refresh) {
  std::shared_ptr<Identity> identity(new Identity(files, refresh));
  {
    const MutexLock lock(&identity->mutex_);
    RETURN_IF_ERROR(identity->Read());
    identity->next_read_ = absl::Now() + refresh;
  }
  RETURN_IF_ERROR(identity->CheckSelf(roles));
  // gRPC reads the key's file itself.
  {
    const MutexLock lock(&identity->mutex_);
    Wipe(&identity->texts_.key);
  }
  identity->provider_ = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.authorities,
      static_cast<unsigned>(std::max<int64_t>(1, absl::ToInt64Seconds(refresh))));
  return identity;
}

absl::StatusOr<SpiffeId> Identity::CheckFiles(const config::TlsFiles& files, const std::vector<std::string>& roles) {
  Identity identity(files, kRefresh);
  {
    const MutexLock lock(&identity.mutex_);
    RETURN_IF_ERROR(identity.Read());
  }
  RETURN_IF_ERROR(identity.CheckSelf(roles));
  return identity.self_;
}

Identity::~Identity() = default;

absl::Status Identity::CheckSelf(const std::vector<std::string>& roles) {
  const MutexLock lock(&mutex_);
  const std::string where = absl::StrCat("(tls_cert=", files_.certificate);
  const Bio reader = Reader(texts_.certificate);
  const Certificate certificate = ReadCertificate(reader.get());
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("tls_cert: no certificate can be read ", where, ")"));
  }
  const PrivateKey key = ReadPrivateKey(texts_.key);
  const bool fits = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("tls_key: cannot be read, or belongs to another certificate ", where,
                                                   ", tls_key=", files_.key, ")"));
  }
  const std::optional<SpiffeId> id = ParseSpiffeId(UriOf(certificate.get()));
  if (!id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls_cert: names no role and name ", where, ", wanted=", kWantedUri, ", one URI)"));
  }
  self_ = *id;
  if (!roles.empty() && std::find(roles.begin(), roles.end(), id->role) == roles.end()) {
    return absl::InvalidArgumentError(absl::StrCat("tls_cert: has another role ", where, ", role=", id->role,
                                                   ", wanted=", absl::StrJoin(roles, " or "), ")"));
  }
  const absl::Status valid =
      Verify(store_.get(), certificate.get(), texts_.certificate, X509_PURPOSE_ANY, Judged::kAnew).status();
  if (valid.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("tls_cert: ", valid.message(), " ", where, ", tls_ca=", files_.authorities, ")"));
}

absl::Status Identity::Read() const {
  ASSIGN_OR_RETURN(config::TlsTexts texts, config::ReadTlsFiles(files_));
  const bool others = texts.authorities != texts_.authorities || texts.lists != texts_.lists;
  if (others) {
    ASSIGN_OR_RETURN(Store store, MakeStore(texts));
    store_ = std::shared_ptr<X509_STORE>(store.release(), X509_STORE_free);
    ++generation_;
    believed_.Clear();
  }
  texts_ = std::move(texts);
  ends_ = EndsOf(texts_);
  return absl::OkStatus();
}

void Identity::Refresh() const {
  const absl::Time now = absl::Now();
  if (now < next_read_) return;
  next_read_ = now + refresh_;
  const std::string trouble(Read().message());
  Wipe(&texts_.key);
  if (!trouble.empty() && trouble != trouble_) {
    COPSE_LOG(kError, trouble, "; the files are used as they were read before");
  }
  trouble_ = trouble;
  WarnOfEnds(now);
}

void Identity::WarnOfEnds(absl::Time now) const {
  if (now < next_warning_) return;
  next_warning_ = now + kWarnOfEndEvery;
  if (ends_.certificate != absl::InfinitePast()) {
    WarnOfEnd(absl::StrCat("this program (tls_cert=", files_.certificate, ")"), ends_.certificate);
  }
  if (ends_.list - now > kListEndsSoon) return;
  COPSE_LOG(
      kWarning, "a revocation list ", ends_.list <= now ? "has ended" : "ends soon",
      "; without one that lasts no certificate of its authority is believed: copse-ca crl makes one (tls_crl_dir=",
      ends_.list_file, ", ends=", Day(ends_.list), ", days=", (ends_.list - now) / absl::Hours(24),
      ", warned_below=", kListEndsSoon / absl::Hours(24), ")");
}

void WarnOfEnd(const std::string& owner, absl::Time ends) {
  const absl::Time now = absl::Now();
  if (ends - now > kEndsSoon) return;
  COPSE_LOG(kWarning, "the certificate of ", owner, ends <= now ? " has ended" : " ends soon", " (ends=", Day(ends),
            ", days=", (ends - now) / absl::Hours(24), ", warned_below=", kEndsSoon / absl::Hours(24), ")");
}

uint64_t Identity::generation() const {
  const MutexLock lock(&mutex_);
  Refresh();
  return generation_;
}

void Identity::Reread() const {
  const MutexLock lock(&mutex_);
  next_read_ = absl::InfinitePast();
  Refresh();
}

IdentityEnds Identity::ends() const {
  const MutexLock lock(&mutex_);
  return ends_;
}

void Identity::AppendCounters(std::map<std::string, uint64_t>* counters) const {
  const IdentityEnds ends = this->ends();
  const auto append = [&](const char* name, absl::Time time) {
    (*counters)[name] = static_cast<uint64_t>(std::max<int64_t>(0, absl::ToUnixSeconds(time)));
  };
  append(kCertificateEndsCounter, ends.certificate);
  if (!ends.list_file.empty()) append(kListEndsCounter, ends.list);
}

absl::StatusOr<Identity::Judgment> Identity::Judge(const PeerCertificate& peer, int purpose, Judged judged) const {
  Judgment judgment{.certificate = ReadCertificate(Reader(peer.certificate).get())};
  X509* const certificate = judgment.certificate.get();
  if (certificate == nullptr) {
    return absl::UnauthenticatedError(absl::StrCat(
        "no certificate was shown: set tls_cert, tls_key and tls_ca (wanted=spiffe://", self_.domain, "/ROLE/NAME)"));
  }
  std::shared_ptr<X509_STORE> store;
  {
    const MutexLock lock(&mutex_);
    Refresh();
    store = store_;
    judgment.generation = generation_;
    judgment.until = ends_.list;
  }
  // gRPC's chain begins with the certificate. Reading one takes half as long as verifying it.
  const std::string others(absl::StripPrefix(peer.chain, peer.certificate));
  const absl::StatusOr<absl::Time> chain_ends = Verify(store.get(), certificate, others, purpose, judged);
  if (!chain_ends.ok()) {
    return absl::UnauthenticatedError(
        absl::StrCat("certificate ", Shown(UriOf(certificate)), " ", chain_ends.status().message()));
  }
  judgment.until = std::min(judgment.until, *chain_ends);
  return judgment;
}

absl::Status Identity::CheckSigned(const PeerCertificate& client) const {
  // A client that is believed will call soon, and is not verified anew then. A stranger is verified once.
  const absl::Status believed = Check(client, /*as_client=*/true).status();
  if (believed.ok() || absl::EndsWith(believed.message(), kNotSigned)) return believed;
  return Judge(client, X509_PURPOSE_ANY, Judged::kSignaturesAlone).status();
}

absl::Status Identity::StillBelieves(const PeerCertificate& peer, bool as_client) const {
  return Judge(peer, as_client ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER, Judged::kAgain).status();
}

absl::StatusOr<CheckedPeer> Identity::Check(const PeerCertificate& peer, bool as_client) const {
  const std::string shown = HashOf(peer, as_client);
  {
    const MutexLock lock(&mutex_);
    Refresh();
    if (const CheckedPeer* const believed = believed_.Find(shown, absl::Now())) return *believed;
  }
  const auto refused = [](const auto&... words) { return absl::UnauthenticatedError(absl::StrCat(words...)); };
  ASSIGN_OR_RETURN(const Judgment judgment,
                   Judge(peer, as_client ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER, Judged::kAnew));
  const std::string uri = UriOf(judgment.certificate.get());
  const std::optional<SpiffeId> id = ParseSpiffeId(uri);
  if (!id.has_value()) {
    return refused("certificate ", Shown(uri), " names no role (wanted=", kWantedUri, ", one URI)");
  }
  if (id->domain != self_.domain) {
    return refused("certificate ", uri, " is of another domain (domain=", id->domain, ", wanted=", self_.domain, ")");
  }
  CheckedPeer checked{*id, TimeOf(X509_get0_notAfter(judgment.certificate.get()))};
  const MutexLock lock(&mutex_);
  if (judgment.generation == generation_) believed_.Add(shown, checked, absl::Now(), judgment.until);
  return checked;
}

std::shared_ptr<grpc::ServerCredentials> Identity::ForServer() const {
  grpc::experimental::TlsServerCredentialsOptions options(provider_);
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);  // ClientVerifier does
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<ClientVerifier>(shared_from_this()));
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> Identity::ForChannel(std::vector<std::string> roles) const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_);
  options.watch_identity_key_cert_pairs();
  options.watch_root_certs();              // else gRPC parses all of the system's authorities, 30 ms in each program
  options.set_verify_server_certs(false);  // ServerVerifier does
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<ServerVerifier>(shared_from_this(), std::move(roles)));
  return grpc::experimental::TlsCredentials(options);
}

namespace {

// Returns whether the server has ended the connection before it could be used.
bool IsClosedEarly(std::string_view message) {
  if (!absl::StartsWith(AbslView(message), "failed to connect")) return false;
  return absl::EndsWith(AbslView(message), "Socket closed") || absl::EndsWith(AbslView(message), "Broken pipe") ||
         absl::EndsWith(AbslView(message), "Connection reset by peer");
}

}  // namespace

std::string WhyUnreachable(const absl::Status& status, bool encrypted) {
  const std::string_view message = StdView(status.message());
  for (const std::string_view before :
       {"Failed to connect to remote host: ", "Custom verification check failed with error: UNAUTHENTICATED: "}) {
    const size_t at = message.rfind(before);
    if (at != std::string_view::npos) return std::string(message.substr(at + before.size()));
  }
  if (encrypted && absl::StrContains(AbslView(message), "wrong version number")) {
    return "the server does not speak TLS: has it tls_cert?";
  }
  if (IsClosedEarly(message)) {
    return encrypted ? "the server has closed the connection: is this certificate's authority in its tls_ca?"
                     : "the server has closed the connection: does it want TLS, with a certificate?";
  }
  return message.empty() ? "no connection" : std::string(message);
}

}  // namespace copse::rpc
