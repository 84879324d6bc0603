// SPDX-License-Identifier: Apache-2.0
//
// Tests who believes whom, over a stream in memory.
#include "offload_emu/tcp/tls_handshake.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "base/certificates/x509.h"
#include "offload_emu/tcp/testing/test_authority.h"

namespace copse::emu {
namespace {

using Identity = std::shared_ptr<const TlsIdentity>;

absl::Span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// The two sides of a handshake, and how it ended at each.
struct Pair {
  Pair(Identity of_client, Identity of_server)
      : client(std::move(of_client), false), server(std::move(of_server), true) {}

  // Passes `bytes_max` bytes at a time until nothing is left to be passed.
  void Run(size_t bytes_max = 1 << 20) {
    for (bool any = true; any;) {
      any = Pass(&client, &to_server, &server, &at_server, bytes_max);
      any |= Pass(&server, &to_client, &client, &at_client, bytes_max);
    }
  }
  static bool Pass(TlsHandshake* from, std::string* wire, TlsHandshake* to, absl::Status* status, size_t bytes_max) {
    *wire += from->TakeOutput();
    if (wire->empty() || !status->ok() || to->done()) return false;
    for (size_t arrived = std::min(bytes_max, wire->size()); true;
         arrived = std::min(arrived + bytes_max, wire->size())) {
      const absl::StatusOr<size_t> taken = to->Take(BytesOf(wire->substr(0, arrived)));
      *status = taken.status();
      if (!taken.ok()) return true;
      if (*taken > 0) {
        wire->erase(0, *taken);
        return true;
      }
      if (arrived == wire->size()) return false;
    }
  }

  TlsHandshake client, server;
  std::string to_server, to_client;  // on their way
  absl::Status at_client, at_server;
};

class TlsHandshakeTest : public testing::Test {
 protected:
  Identity Of(const TestCertificate& certificate, const std::string& revoked = "") {
    return Of(certificate, authority_.certificate(), revoked);
  }
  static Identity Of(const TestCertificate& certificate, const std::string& authorities, const std::string& revoked) {
    auto identity = TlsIdentity::FromCertificates(certificate.certificate, certificate.key, authorities, revoked);
    EXPECT_TRUE(identity.ok()) << identity.status();
    return *identity;
  }
  Identity Node(const std::string& name) { return Of(authority_.IssueNode(name)); }

  const TestAuthority authority_;
};

TEST_F(TlsHandshakeTest, BothLearnWhoTheOtherIsAndHaveTheSameKeys) {
  for (const size_t bytes_max : {size_t{1}, size_t{7}, size_t{1} << 20}) {
    Pair pair(Node("n1"), Node("n2"));
    pair.Run(bytes_max);
    ASSERT_TRUE(pair.client.done() && pair.server.done()) << pair.at_client << pair.at_server;
    EXPECT_EQ(pair.client.peer(), "n2");
    EXPECT_EQ(pair.server.peer(), "n1");
    EXPECT_EQ(pair.client.SendKey().key, pair.server.ReceiveKey().key);
    EXPECT_EQ(pair.server.SendKey().nonce, pair.client.ReceiveKey().nonce);
    EXPECT_NE(pair.client.SendKey().key, pair.client.ReceiveKey().key);
  }
}

TEST_F(TlsHandshakeTest, WhatFollowsTheHandshakeIsNotTaken) {
  Pair pair(Node("n1"), Node("n2"));
  while (!pair.client.done()) {
    Pair::Pass(&pair.client, &pair.to_server, &pair.server, &pair.at_server, 1 << 20);
    Pair::Pass(&pair.server, &pair.to_client, &pair.client, &pair.at_client, 1 << 20);
  }
  pair.to_server += pair.client.TakeOutput() + "sealed";
  const absl::StatusOr<size_t> taken = pair.server.Take(BytesOf(pair.to_server));
  ASSERT_TRUE(taken.ok()) << taken.status();
  EXPECT_TRUE(pair.server.done());
  EXPECT_EQ(pair.to_server.substr(*taken), "sealed");
}

class RefusalTest : public TlsHandshakeTest {
 protected:
  void ExpectServerRefuses(Identity client, Identity server, const std::string& why) {
    Pair pair(std::move(client), std::move(server));
    pair.Run();
    EXPECT_EQ(pair.at_server.code(), absl::StatusCode::kPermissionDenied) << pair.at_server;
    EXPECT_NE(pair.at_server.message().find(why), absl::string_view::npos) << pair.at_server;
    EXPECT_FALSE(pair.server.done());
    if (!pair.client.done()) return;
    pair.to_client += pair.server.TakeOutput();
    EXPECT_EQ(pair.client.RefusalIn(BytesOf(pair.to_client)).code(), absl::StatusCode::kPermissionDenied);
  }
  void ExpectClientRefuses(Identity client, Identity server, const std::string& why) {
    Pair pair(std::move(client), std::move(server));
    pair.Run();
    EXPECT_EQ(pair.at_client.code(), absl::StatusCode::kPermissionDenied) << pair.at_client;
    EXPECT_NE(pair.at_client.message().find(why), absl::string_view::npos) << pair.at_client;
    EXPECT_FALSE(pair.client.done() || pair.server.done());
  }
  void ExpectBothRefuse(const Identity& stranger, const std::string& why) {
    ExpectServerRefuses(stranger, Node("n2"), why);
    ExpectClientRefuses(Node("n1"), stranger, why);
  }
};

TEST_F(RefusalTest, AnotherAuthority) {
  const TestAuthority other;
  // It believes this test's authority.
  ExpectBothRefuse(Of(other.IssueNode("n3"), authority_.certificate(), ""), "certificate");
}

TEST_F(RefusalTest, AnExpiredCertificate) {
  ExpectBothRefuse(Of(authority_.Issue({.uri = "spiffe://test/node/n3", .days = -1})), "expired");
}

TEST_F(RefusalTest, ARevokedCertificate) {
  const std::string revoked = authority_.Revoke({7});
  const Identity judge = Of(authority_.IssueNode("n1"), revoked);
  ExpectServerRefuses(Of(authority_.Issue({.uri = "spiffe://test/node/n3", .serial = 7})), judge, "revoked");
  Pair pair(Of(authority_.Issue({.uri = "spiffe://test/node/n3", .serial = 8})), judge);
  pair.Run();
  EXPECT_TRUE(pair.server.done()) << pair.at_server;
}

TEST_F(RefusalTest, WhatARevokedIntermediateHasSigned) {
  const TestCertificate intermediate = authority_.Issue({.serial = 55, .is_authority = true});
  const TestAuthority signer(intermediate);
  TestCertificate node = signer.IssueNode("n3");
  node.certificate += intermediate.certificate;
  const auto judge = [&](const std::string& of_root) {
    return Of(authority_.IssueNode("n1"), signer.Revoke({}) + of_root);
  };
  ExpectServerRefuses(Of(node, authority_.certificate(), ""), judge(authority_.Revoke({55})), "revoked");
  for (const std::string& of_root : {authority_.Revoke({56}), std::string()}) {
    Pair pair(Of(node, authority_.certificate(), ""), judge(of_root));
    pair.Run();
    EXPECT_TRUE(pair.server.done()) << pair.at_server;
    EXPECT_EQ(judge(authority_.Revoke({56}))->StillBelieves(*pair.server.peer_chain()), absl::OkStatus());
    EXPECT_EQ(judge(authority_.Revoke({55}))->StillBelieves(*pair.server.peer_chain()).code(),
              absl::StatusCode::kPermissionDenied);
  }
}

TEST_F(RefusalTest, AnyCertificateOnceTheListHasEnded) {
  const TestCertificate node = authority_.IssueNode("n3");
  ExpectServerRefuses(Of(node), Of(authority_.IssueNode("n1"), authority_.Revoke({}, -1)), "CRL has expired");
  // A connection that exists goes on.
  Pair pair(Of(node), Node("n1"));
  pair.Run();
  ASSERT_TRUE(pair.server.done()) << pair.at_server;
  const Identity later = Of(authority_.IssueNode("n1"), authority_.Revoke({}, -1));
  EXPECT_EQ(later->StillBelieves(*pair.server.peer_chain()), absl::OkStatus());
}

// A side of a handshake that does as the test likes, with a certificate that is believed unless it shows another one.
class OtherSide {
 public:
  OtherSide(const Identity& identity, bool is_server)
      : session_(identity->NewSession(is_server)), in_(BIO_new(BIO_s_mem())), out_(BIO_new(BIO_s_mem())) {
    SSL_set_bio(session_, in_, out_);
  }
  OtherSide(const OtherSide&) = delete;
  OtherSide& operator=(const OtherSide&) = delete;
  ~OtherSide() { SSL_free(session_); }

  void SpeakTls12() {
    SSL_set_min_proto_version(session_, TLS1_2_VERSION);
    SSL_set_max_proto_version(session_, TLS1_2_VERSION);
  }
  void ShowNothing() { SSL_certs_clear(session_); }
  void Show(const TestCertificate& shown) {
    EXPECT_EQ(SSL_use_certificate(session_, x509::ReadCertificate(x509::Reader(shown.certificate).get()).get()), 1);
    EXPECT_EQ(SSL_use_PrivateKey(session_, x509::ReadPrivateKey(shown.key).get()), 1);
  }

  // Goes on with what the other side has sent, and returns what that gets.
  std::string Answer(const std::string& input) {
    BIO_write(in_, input.data(), static_cast<int>(input.size()));
    SSL_do_handshake(session_);
    ERR_clear_error();
    std::string output(BIO_ctrl_pending(out_), '\0');
    BIO_read(out_, output.data(), static_cast<int>(output.size()));
    return output;
  }

 private:
  SSL* const session_;
  BIO* const in_;
  BIO* const out_;
};

TEST_F(RefusalTest, AClientWithoutTls13) {
  OtherSide client(Node("n1"), false);
  client.SpeakTls12();
  TlsHandshake server(Node("n2"), true);
  const absl::Status refused = server.Take(BytesOf(client.Answer(""))).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "unsupported protocol")) << refused;
}

TEST_F(RefusalTest, AServerWithoutTls13) {
  OtherSide server(Node("n1"), true);
  server.SpeakTls12();
  TlsHandshake client(Node("n2"), false);
  const absl::Status refused = client.Take(BytesOf(server.Answer(client.TakeOutput()))).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_FALSE(client.done());
}

// Expects that the client gets as far as its certificate.
void ExpectRefusal(OtherSide* client, TlsHandshake* server) {
  ASSERT_TRUE(server->Take(BytesOf(client->Answer(""))).ok());
  const absl::Status refused = server->Take(BytesOf(client->Answer(server->TakeOutput()))).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_FALSE(server->done());
}

TEST_F(RefusalTest, AClientWithoutACertificate) {
  OtherSide client(Node("n1"), false);
  client.ShowNothing();
  TlsHandshake server(Node("n2"), true);
  ExpectRefusal(&client, &server);
}

TEST_F(RefusalTest, AServerWithoutACertificate) {
  OtherSide server(Node("n1"), true);
  server.ShowNothing();
  TlsHandshake client(Node("n2"), false);
  const absl::Status refused = client.Take(BytesOf(server.Answer(client.TakeOutput()))).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << refused;
  EXPECT_FALSE(client.done());
}

TEST_F(RefusalTest, ACertificateOfAnotherRole) {
  for (const char* const role : {"viewer", "operator", "administrator", "planner"}) {
    const TestCertificate shown = authority_.Issue({.uri = std::string("spiffe://test/") + role + "/n1"});
    OtherSide client(Node("n1"), false), server(Node("n1"), true);
    client.Show(shown);
    server.Show(shown);
    TlsHandshake own_server(Node("n2"), true), own_client(Node("n2"), false);
    ExpectRefusal(&client, &own_server);
    const absl::Status refused = own_client.Take(BytesOf(server.Answer(own_client.TakeOutput()))).status();
    EXPECT_EQ(refused.code(), absl::StatusCode::kPermissionDenied) << role << ": " << refused;
    EXPECT_FALSE(own_client.done());
  }
}

TEST_F(RefusalTest, AnotherDomain) {
  ExpectServerRefuses(Of(authority_.Issue({.uri = "spiffe://other/node/n3"})), Node("n2"), "domain=other");
}

// Runs a handshake of which one bit is changed on its way, and returns whether both sides go on nevertheless, which
// then have the same keys. Sets `*all` to the number of bytes that it has.
bool SurvivesAChange(const Identity& n1, const Identity& n2, size_t changed, size_t* all) {
  Pair pair(n1, n2);
  *all = 0;
  const auto pass = [&](TlsHandshake* from, TlsHandshake* to, absl::Status* status) {
    std::string wire = from->TakeOutput();
    if (changed >= *all && changed < *all + wire.size()) wire[changed - *all] ^= static_cast<char>(1 << changed % 8);
    *all += wire.size();
    if (!wire.empty() && status->ok() && !to->done()) *status = to->Take(BytesOf(wire)).status();
  };
  for (size_t before = SIZE_MAX; before != *all;) {
    before = *all;
    pass(&pair.client, &pair.server, &pair.at_server);
    pass(&pair.server, &pair.client, &pair.at_client);
  }
  EXPECT_TRUE(!pair.client.done() || pair.client.peer() == "n2") << changed;
  EXPECT_TRUE(!pair.server.done() || pair.server.peer() == "n1") << changed;
  if (!pair.client.done() || !pair.server.done()) return false;
  EXPECT_EQ(pair.client.SendKey().key, pair.server.ReceiveKey().key) << changed;
  return true;
}

TEST_F(TlsHandshakeTest, AFlippedBitEndsItOrChangesNothing) {
  const Identity n1 = Node("n1"), n2 = Node("n2");
  size_t all = 0, survived = 0;
  EXPECT_TRUE(SurvivesAChange(n1, n2, SIZE_MAX, &all));
  EXPECT_GT(all, 1000u);
  // Every third byte, and each bit of a byte: a handshake takes milliseconds. The fuzz target changes all.
  for (size_t changed = 0, bytes = all; changed < bytes; changed += 3) {
    survived += SurvivesAChange(n1, n2, changed, &all) ? 1 : 0;
  }
  // TLS ignores the version in the header of a record (RFC 8446, section 5.1).
  EXPECT_LT(survived, 32u);
}

TEST_F(TlsHandshakeTest, BytesThatAreNoTlsAreRefused) {
  for (const std::string& input : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\x16\x03\x03\xff\xff more", 10),
                                   std::string("\x16\x02\x00\x00\x01\x01", 6)}) {
    TlsHandshake server(Node("n2"), true);
    EXPECT_EQ(server.Take(BytesOf(input)).status().code(), absl::StatusCode::kInvalidArgument);
  }
  TlsHandshake server(Node("n2"), true);
  EXPECT_EQ(server.Take(BytesOf(std::string("\x16\x03\x03\x00\x04 abcd", 10))).status().code(),
            absl::StatusCode::kPermissionDenied);
}

class TlsIdentityTest : public TlsHandshakeTest {};

TEST_F(TlsIdentityTest, ACertificateMustNameOneNode) {
  for (const auto& [uri, second] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {"spiffe://test/planner/p1", ""},
                                                        {"spiffe://test/node/", ""},
                                                        {"spiffe:///node/n1", ""},
                                                        {"spiffe://test/node/n1/x", ""},
                                                        {"https://test/node/n1", ""},
                                                        {"spiffe://test/node/n1", "spiffe://test/node/n2"}}) {
    const TestCertificate issued = authority_.Issue({.uri = uri, .second_uri = second});
    const auto identity = TlsIdentity::FromCertificates(issued.certificate, issued.key, authority_.certificate());
    EXPECT_EQ(identity.status().code(), absl::StatusCode::kInvalidArgument) << uri;
  }
  EXPECT_EQ(Node("n1")->node(), "n1");
}

TEST_F(TlsIdentityTest, TextsThatCannotBeReadAreRefused) {
  const TestCertificate n1 = authority_.IssueNode("n1");
  const std::string other_key = authority_.IssueNode("n1").key;
  const auto code = [](auto... texts) { return TlsIdentity::FromCertificates(texts...).status().code(); };
  const std::string none;
  EXPECT_EQ(code(none, n1.key, authority_.certificate()), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(n1.certificate, none, authority_.certificate()), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(n1.certificate, other_key, authority_.certificate()), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(n1.certificate, n1.key, none), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(n1.certificate, n1.key, authority_.certificate(), std::string("nothing")),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace copse::emu
