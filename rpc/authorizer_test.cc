// SPDX-License-Identifier: Apache-2.0
//
// Tests who is let in, with servers and clients of gRPC.
#include "rpc/authorizer.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "rpc/credentials.h"
#include "rpc/status.h"
#include "rpc/testing/identity_files.h"
#include "rpc/testing/method_calls.h"

namespace copse::rpc {
namespace {

using testing::FailsWith;

constexpr auto kUnauthenticated = absl::StatusCode::kUnauthenticated;
constexpr auto kDenied = absl::StatusCode::kPermissionDenied;
constexpr auto kUnavailable = absl::StatusCode::kUnavailable;
constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kViewersMethod[] = "/copse.v1.AdminService/ListNodes";

const emu::TestAuthority& Authority() {
  static const auto* authority = new emu::TestAuthority;
  return *authority;
}
std::shared_ptr<const Identity> Opened(const config::TlsFiles& files) {
  absl::StatusOr<std::shared_ptr<const Identity>> identity = Identity::Open(files, {});
  EXPECT_TRUE(identity.ok()) << identity.status();
  return *identity;
}
std::shared_ptr<const Identity> Of(const std::string& role, const std::string& name) {
  return Opened(WriteRole(Authority(), role, name));
}

// A Server answers every method that its Authorizer allows.
class Server final : public grpc::CallbackGenericService {
 public:
  explicit Server(std::shared_ptr<const Identity> identity) : authorizer(identity) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", *CredentialsFactory({.identity = identity}).Server("127.0.0.1:0"), &port);
    builder.RegisterCallbackGenericService(this);
    server_ = builder.BuildAndStart();
    address = absl::StrCat("127.0.0.1:", port);
  }

  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* context) override {
    class Answer final : public grpc::ServerGenericBidiReactor {
     public:
      explicit Answer(const grpc::Status& status) { Finish(status); }
      void OnDone() override { delete this; }
    };
    ++calls;
    const absl::StatusOr<Principal> caller = authorizer.Authorize(*context, context->method());
    if (caller.ok()) last = *caller;
    // A unary call without a reply is an error, so the answer is one in any case.
    return new Answer(ToGrpc(caller.ok() ? absl::AlreadyExistsError(caller->who) : caller.status()));
  }

  const Authorizer authorizer;
  std::string address;
  Principal last;  // the last one that was let in
  std::atomic<int> calls = 0;

 private:
  std::unique_ptr<grpc::Server> server_;
};

absl::Status CallBy(const std::shared_ptr<grpc::ChannelCredentials>& credentials, const std::string& address,
                    const std::string& method = kViewersMethod) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  grpc::GenericStub stub(grpc::CreateCustomChannel(address, credentials, arguments));
  grpc::ClientContext context;
  context.set_deadline(absl::ToChronoTime(absl::Now() + absl::Seconds(10)));
  grpc::ByteBuffer request, reply;
  const grpc::Slice empty;
  request = grpc::ByteBuffer(&empty, 1);
  Mutex mutex;
  CondVar changed;
  bool done = false;
  grpc::Status status;
  stub.UnaryCall(&context, method, {}, &request, &reply, [&](grpc::Status ended) {
    const MutexLock lock(&mutex);
    status = std::move(ended);
    done = true;
    changed.NotifyAll();
  });
  const MutexLock lock(&mutex);
  while (!done) changed.Wait(&mutex);
  // Server answers so if the caller was let in.
  if (status.error_code() == grpc::StatusCode::ALREADY_EXISTS) return absl::OkStatus();
  return FromGrpc(status);
}
absl::Status Call(std::shared_ptr<const Identity> identity, const Server& server,
                  const std::string& method = kViewersMethod) {
  const auto credentials = CredentialsFactory({.identity = std::move(identity)}).Channel(server.address);
  EXPECT_TRUE(credentials.ok());
  return CallBy(*credentials, server.address, method);
}

TEST(AuthorizerTest, RoleAndNameComeFromTheCertificate) {
  Server server(Of("planner", "p1"));
  EXPECT_EQ(Call(Of("viewer", "bob"), server), absl::OkStatus());
  EXPECT_EQ(server.last.who, "viewer/bob");
  EXPECT_EQ(server.last.role, Role::kViewer);
  EXPECT_TRUE(server.last.is_known);
  EXPECT_GT(server.last.ends, absl::Now());
  EXPECT_EQ(Call(Of("node", "n1"), server, "/copse.v1.DaemonService/Attach"), absl::OkStatus());
  EXPECT_EQ(server.last.id->name, "n1");
}

TEST(AuthorizerTest, EachRoleMayCallWhatTheTableSays) {
  const Authorizer authorizer(Of("planner", "p1"));
  for (const Role role : kRoles) {
    if (role == Role::kOwner) continue;
    const emu::TestCertificate shown =
        Authority().Issue({.uri = absl::StrCat("spiffe://test/", std::string(RoleName(role)), "/x")});
    for (const MethodRow& row : MethodRows()) {
      const absl::Status judged =
          authorizer.Authorize({.peer = "ipv4:10.0.0.1:1", .certificate = {shown.certificate, ""}}, row.method)
              .status();
      EXPECT_EQ(judged.ok(), MayCall(row, role)) << row.method << " " << RoleName(role) << " " << judged;
      if (!judged.ok()) {
        EXPECT_THAT(judged, FailsWith(kDenied, absl::StrCat("role=", std::string(RoleName(role))), "wanted="));
      }
    }
  }
}

TEST(PrincipalTest, ProgramsChangeNoTeams) {
  for (const Role role : kRoles) {
    EXPECT_EQ(Principal{.role = role}.MayChange(0), role == Role::kOperator || role == Role::kAdministrator)
        << RoleName(role);
  }
}

TEST(AuthorizerTest, LocalUsersHaveTheirSocketsRole) {
  const Authorizer authorizer(Of("planner", "p1"));
  const Caller owner{.peer = "fd:5", .local = LocalUser{.uid = 1000, .pid = 7, .role = Role::kOwner}};
  const auto caller = authorizer.Authorize(owner, "/copse.v1.AdminService/BreakTeam");
  ASSERT_TRUE(caller.ok()) << caller.status();
  EXPECT_EQ(caller->who, "uid 1000");
  EXPECT_TRUE(caller->MayChange(1000));
  EXPECT_FALSE(caller->MayChange(1001));
  EXPECT_THAT(authorizer.Authorize(owner, "/copse.v1.AdminService/DrainNode"),
              FailsWith(kDenied, "uid 1000", "DrainNode", "role=owner", "wanted=operator"));
  EXPECT_THAT(authorizer.Authorize({.peer = "fd:5"}, kViewersMethod), FailsWith(kUnauthenticated, "socket"));
}

TEST(AuthorizerTest, WithoutAnIdentityEveryCallerIsLetIn) {
  Server server(nullptr);
  EXPECT_EQ(Call(nullptr, server, "/copse.v1.AdminService/ImportTopology"), absl::OkStatus());
  EXPECT_FALSE(server.last.is_known);
  EXPECT_TRUE(server.last.MayChange(5));
}

TEST(AuthorizerTest, ARefusedClientIsToldWhy) {
  Server server(Of("planner", "p1"));
  const auto call = [&](const emu::TestAuthority& authority, const emu::TestCertificateOptions& options) {
    return CallBy(CarelessCredentials(WriteIdentity(authority, "careless", options)), server.address);
  };
  EXPECT_EQ(call(Authority(), {.uri = "spiffe://test/viewer/x"}), absl::OkStatus());
  EXPECT_THAT(call(Authority(), {.uri = "spiffe://test/viewer/x", .days = -1}),
              FailsWith(kUnauthenticated, "spiffe://test/viewer/x", "has expired", "ended="));
  EXPECT_THAT(call(Authority(), {.uri = "spiffe://elsewhere/viewer/x"}),
              FailsWith(kUnauthenticated, "another domain", "domain=elsewhere", "wanted=test"));
  EXPECT_THAT(call(Authority(), {}), FailsWith(kUnauthenticated, "without a URI", "wanted=spiffe://DOMAIN/ROLE/NAME"));
  EXPECT_THAT(call(Authority(), {.uri = "spiffe://test/king/x"}), FailsWith(kDenied, "role=king", "known="));
}

TEST(AuthorizerTest, AStrangersHandshakeEnds) {
  const emu::TestAuthority other;
  const std::shared_ptr<const Identity> planner = Of("planner", "p1");
  Server server(planner);
  EXPECT_THAT(planner->CheckSigned({}),
              FailsWith(kUnauthenticated, "no certificate was shown", "tls_cert", "wanted=spiffe://test/ROLE/NAME"));
  const config::TlsFiles foreign = WriteIdentity(other, "foreign", {.uri = "spiffe://test/viewer/x"});
  for (const config::TlsFiles& files : {config::TlsFiles{}, foreign}) {
    const absl::Status refused = CallBy(CarelessCredentials(files), server.address);
    EXPECT_EQ(refused.code(), kUnavailable) << refused;
    EXPECT_EQ(WhyUnreachable(refused, true),
              "the server has closed the connection: is this certificate's authority in its tls_ca?")
        << refused;
  }
  EXPECT_EQ(server.calls, 0);
  EXPECT_EQ(Call(Of("viewer", "bob"), server), absl::OkStatus());
  EXPECT_EQ(server.calls, 1);
}

// Returns whether a client with such versions of TLS alone, and without a certificate, gets through its part of the
// handshake: the server judges the client later.
bool Greets(const std::string& address, int version) {
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
  SSL_CTX_set_security_level(context.get(), 0);  // else OpenSSL itself refuses old versions
  SSL_CTX_set_min_proto_version(context.get(), version);
  SSL_CTX_set_max_proto_version(context.get(), version);
  BIO* const connection = BIO_new_ssl_connect(context.get());
  BIO_set_conn_hostname(connection, address.c_str());
  const bool greets = BIO_do_connect(connection) == 1 && BIO_do_handshake(connection) == 1;
  ERR_clear_error();
  BIO_free_all(connection);
  return greets;
}

TEST(AuthorizerTest, TlsBefore12IsNotSpoken) {
  Server server(Of("planner", "p1"));
  EXPECT_TRUE(Greets(server.address, TLS1_3_VERSION));
  EXPECT_TRUE(Greets(server.address, TLS1_2_VERSION));
  EXPECT_FALSE(Greets(server.address, TLS1_1_VERSION));
  EXPECT_FALSE(Greets(server.address, TLS1_VERSION));
}

TEST(AuthorizerTest, AClientBelievesOnlyAPlanner) {
  const emu::TestAuthority other;
  const std::shared_ptr<const Identity> client = Of("viewer", "bob");
  Server node(Of("node", "n1"));
  EXPECT_THAT(Call(client, node), FailsWith(kUnavailable, "spiffe://test/node/n1", "role=node", "wanted=planner"));
  Server foreign(Opened(WriteIdentity(other, "foreign", {.uri = "spiffe://test/planner/p1"})));
  const absl::Status refused = Call(client, foreign);
  EXPECT_THAT(refused, FailsWith(kUnavailable, "spiffe://test/planner/p1", "not signed by an authority of tls_ca"));
  EXPECT_TRUE(WhyUnreachable(refused, true).starts_with("certificate spiffe://test/planner/p1"))
      << WhyUnreachable(refused, true);
}

TEST(AuthorizerTest, PlainAndEncryptedDoNotMeet) {
  Server encrypted(Of("planner", "p1")), plain(nullptr);
  const absl::Status at_plain = Call(Of("viewer", "bob"), plain), at_encrypted = Call(nullptr, encrypted);
  EXPECT_EQ(at_plain.code(), kUnavailable);
  EXPECT_EQ(at_encrypted.code(), kUnavailable);
  EXPECT_EQ(WhyUnreachable(at_plain, true), "the server does not speak TLS: has it tls_cert?") << at_plain;
  EXPECT_EQ(WhyUnreachable(at_encrypted, false),
            "the server has closed the connection: does it want TLS, with a certificate?")
      << at_encrypted;
}

std::string NewFolder(const std::string& name) {
  const std::string folder = absl::StrCat(getenv("TEST_TMPDIR"), "/", name);
  std::filesystem::create_directory(folder);
  return folder;
}

TEST(IdentityTest, ABadFileOfOnesOwnIsNamed) {
  const emu::TestAuthority other;
  const config::TlsFiles good = WriteRole(Authority(), "node", "n1");
  EXPECT_TRUE(Identity::Open(good, {"node"}).ok());
  EXPECT_THAT(Identity::Open(good, {"planner", "king"}),
              FailsWith(kInvalid, "tls_cert: ", good.certificate, "role=node", "wanted=planner or king"));
  const config::TlsFiles expired = WriteIdentity(Authority(), "expired", {.uri = "spiffe://test/node/n1", .days = -1});
  EXPECT_THAT(Identity::Open(expired, {}), FailsWith(kPrecondition, "tls_cert: ", "expired", expired.certificate));
  config::TlsFiles files = WriteIdentity(other, "other", {.uri = "spiffe://test/node/n1"});
  files.authorities = good.authorities;
  EXPECT_THAT(Identity::Open(files, {}), FailsWith(kPrecondition, "not signed", files.certificate, files.authorities));
  files = good;
  files.key = expired.key;
  EXPECT_THAT(Identity::Open(files, {}), FailsWith(kInvalid, "tls_key: ", "another certificate", files.key));
  EXPECT_THAT(Identity::Open(WriteIdentity(Authority(), "nameless", emu::TestCertificateOptions{}), {}),
              FailsWith(kInvalid, "tls_cert: ", "names no role"));
  files = good;
  files.authorities = good.key;
  EXPECT_THAT(Identity::Open(files, {}), FailsWith(kInvalid, "tls_ca: "));
  files = good;
  files.certificate = good.key;
  EXPECT_THAT(Identity::Open(files, {}), FailsWith(kInvalid, "tls_cert: "));
  EXPECT_THAT(Identity::CheckFiles(files, {}), FailsWith(kInvalid, "tls_cert: "));
  EXPECT_EQ(Identity::CheckFiles(good, {"node"})->name, "n1");
}

TEST(IdentityTest, NewFilesAreUsedWithoutARestart) {
  config::TlsFiles files = WriteRole(Authority(), "planner", "p1");
  files.revoked = NewFolder("revoked");
  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({}));
  const auto identity = Identity::Open(files, {}, /*refresh=*/absl::ZeroDuration());
  ASSERT_TRUE(identity.ok()) << identity.status();
  const emu::TestCertificate peer = Authority().Issue({.uri = "spiffe://test/node/n1", .serial = 77});
  EXPECT_TRUE((*identity)->Check({peer.certificate, ""}, true).ok());
  const uint64_t before = (*identity)->generation();
  EXPECT_EQ((*identity)->generation(), before);

  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({77}));
  EXPECT_GT((*identity)->generation(), before);
  EXPECT_THAT((*identity)->Check({peer.certificate, ""}, true),
              FailsWith(kUnauthenticated, "spiffe://test/node/n1", "is revoked"));
  WriteSecretFile(files.revoked + "/list.pem", "nonsense");
  EXPECT_THAT((*identity)->Check({peer.certificate, ""}, true), FailsWith(kUnauthenticated, "is revoked"))
      << "a file that cannot be read changes nothing";
  const absl::Time ends = (*identity)->ends().certificate;
  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({}));
  WriteIdentity(Authority(), "planner-p1", {.uri = "spiffe://test/planner/p1", .days = 5});
  (*identity)->Reread();
  EXPECT_GT((*identity)->ends().certificate, ends + absl::Hours(24 * 3));
}

TEST(IdentityTest, WhoWasBelievedInTheHandshakeIsRefusedOnceRevoked) {
  config::TlsFiles files = WriteRole(Authority(), "planner", "believing");
  files.revoked = NewFolder("believing");
  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({}));
  const auto identity = Identity::Open(files, {}, /*refresh=*/absl::ZeroDuration());
  ASSERT_TRUE(identity.ok()) << identity.status();
  const emu::TestCertificate peer = Authority().Issue({.uri = "spiffe://test/node/n1", .serial = 77});
  EXPECT_EQ((*identity)->CheckSigned({peer.certificate, ""}), absl::OkStatus());
  EXPECT_TRUE((*identity)->Check({peer.certificate, ""}, true).ok());
  const uint64_t before = (*identity)->generation();
  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({77}));
  EXPECT_THAT((*identity)->Check({peer.certificate, ""}, true), FailsWith(kUnauthenticated, "is revoked"));
  EXPECT_GT((*identity)->generation(), before);
  EXPECT_EQ((*identity)->CheckSigned({peer.certificate, ""}), absl::OkStatus()) << "it is told why when it calls";
}

TEST(IdentityTest, WhatARevokedIntermediateHasSignedIsRefused) {
  const emu::TestCertificate intermediate = Authority().Issue({.serial = 55, .is_authority = true});
  const emu::TestAuthority signer(intermediate);
  config::TlsFiles files = WriteIdentity(signer, "below", {.uri = "spiffe://test/planner/p1"});
  const emu::TestCertificate own = signer.Issue({.uri = "spiffe://test/planner/p1"});
  WriteSecretFile(files.key, own.key);
  WriteSecretFile(files.certificate, own.certificate + intermediate.certificate);
  WriteSecretFile(files.authorities, Authority().certificate());
  files.revoked = NewFolder("below");
  WriteSecretFile(files.revoked + "/signer.pem", signer.Revoke({}));
  const auto identity = Identity::Open(files, {}, /*refresh=*/absl::ZeroDuration());
  ASSERT_TRUE(identity.ok()) << identity.status();
  const PeerCertificate peer = {signer.Issue({.uri = "spiffe://test/node/n1"}).certificate, intermediate.certificate};
  EXPECT_TRUE((*identity)->Check(peer, true).ok()) << "the root's list is not needed";
  WriteSecretFile(files.revoked + "/root.pem", Authority().Revoke({}));
  EXPECT_TRUE((*identity)->Check(peer, true).ok());
  WriteSecretFile(files.revoked + "/root.pem", Authority().Revoke({55}));
  EXPECT_THAT((*identity)->Check(peer, true), FailsWith(kUnauthenticated, "spiffe://test/node/n1", "revoked"));
  EXPECT_THAT((*identity)->StillBelieves(peer), FailsWith(kUnauthenticated, "spiffe://test/node/n1", "revoked"));
  EXPECT_EQ((*identity)->CheckSigned(peer), absl::OkStatus());
}

TEST(IdentityTest, WhoWasBelievedIsRefusedWhenItsCertificateEnds) {
  const auto identity = Of("planner", "believing");
  const emu::TestCertificate brief = Authority().Issue({.uri = "spiffe://test/node/n1", .seconds = 2});
  const auto believed = identity->Check({brief.certificate, ""}, true);
  ASSERT_TRUE(believed.ok()) << believed.status();
  // OpenSSL reads a clock that may be a few milliseconds late.
  while (absl::Now() < believed->ends + absl::Milliseconds(100)) {
    EXPECT_EQ(identity->CheckSigned({brief.certificate, ""}), absl::OkStatus());
  }
  EXPECT_THAT(identity->Check({brief.certificate, ""}, true), FailsWith(kUnauthenticated, "has expired", "ended="));
}

TEST(IdentityTest, WhatAnotherCertificateOfTheSameNameWasFoundToBeDoesNotCount) {
  const emu::TestAuthority other;
  const auto identity = Of("planner", "believing");
  const emu::TestCertificateOptions options = {.uri = "spiffe://test/node/n1"};
  const std::string good = Authority().Issue(options).certificate, foreign = other.Issue(options).certificate;
  EXPECT_TRUE(identity->Check({good, ""}, true).ok());
  EXPECT_THAT(identity->Check({foreign, ""}, true), FailsWith(kUnauthenticated, "not signed by an authority"));
  EXPECT_THAT(identity->Check({foreign, good}, true), FailsWith(kUnauthenticated, "not signed by an authority"));
  EXPECT_THAT(identity->CheckSigned({foreign, ""}), FailsWith(kUnauthenticated, "not signed by an authority"));
}

// Returns what a program logs that reads these files a second time.
std::string LoggedFor(const config::TlsFiles& files) {
  const auto identity = Identity::Open(files, {}, /*refresh=*/absl::ZeroDuration());
  EXPECT_TRUE(identity.ok()) << identity.status();
  ::testing::internal::CaptureStderr();
  (*identity)->Reread();
  (*identity)->Reread();
  return ::testing::internal::GetCapturedStderr();
}

size_t LinesWith(const std::string& text, const std::string& part) {
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  return static_cast<size_t>(std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return absl::StrContains(line, part) && absl::StrContains(line, "ends=");
  }));
}

TEST(IdentityTest, WhatEndsSoonIsLoggedOnceInAWhile) {
  const auto write = [](int days) {
    return WriteIdentity(Authority(), "ending", {.uri = "spiffe://test/node/n1", .days = days});
  };
  config::TlsFiles files = write(15);
  files.revoked = NewFolder("ending");
  const std::string list = files.revoked + "/list.pem";
  WriteSecretFile(list, Authority().Revoke({}, 8));
  EXPECT_EQ(LinesWith(LoggedFor(files), "="), 0u);
  write(14);
  EXPECT_EQ(LinesWith(LoggedFor(files), "tls_cert=" + files.certificate), 1u);
  WriteSecretFile(list, Authority().Revoke({}, 7));
  EXPECT_EQ(LinesWith(LoggedFor(files), "tls_crl_dir=" + list), 1u);
  // An authority's list that lasts longest counts.
  WriteSecretFile(files.revoked + "/newer.pem", Authority().Revoke({}, 30));
  EXPECT_EQ(LinesWith(LoggedFor(files), "tls_crl_dir="), 0u);
  // Another authority's list is one of its own.
  const std::string other = files.revoked + "/other.pem";
  WriteSecretFile(other, emu::TestAuthority("another").Revoke({}, 2));
  EXPECT_EQ(LinesWith(LoggedFor(files), "tls_crl_dir=" + other), 1u);
}

TEST(IdentityTest, ANodesCertificateThatEndsSoonIsLogged) {
  for (const auto& [days, lines] : {std::pair(15, 0u), {13, 1u}, {-1, 1u}}) {
    ::testing::internal::CaptureStderr();
    WarnOfEnd("node n7", absl::Now() + absl::Hours(24 * days));
    EXPECT_EQ(LinesWith(::testing::internal::GetCapturedStderr(), "node n7"), lines) << days;
  }
}

TEST(IdentityTest, CountersSayWhatEnds) {
  config::TlsFiles files = WriteRole(Authority(), "node", "counted");
  std::map<std::string, uint64_t> counters;
  Opened(files)->AppendCounters(&counters);
  const auto in_a_day = static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now() + absl::Hours(24)));
  EXPECT_NEAR(counters.at(kCertificateEndsCounter), in_a_day, 120);
  EXPECT_FALSE(counters.contains(kListEndsCounter));
  files.revoked = NewFolder("counted");
  WriteSecretFile(files.revoked + "/list.pem", Authority().Revoke({}, 3));
  Opened(files)->AppendCounters(&counters);
  EXPECT_NEAR(counters.at(kListEndsCounter), in_a_day + 2 * 24 * 3600, 120);
}

}  // namespace
}  // namespace copse::rpc
