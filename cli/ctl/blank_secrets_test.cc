// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/blank_secrets.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::ctl {
namespace {

TEST(BlankSecretsTest, ValuesOfSecretsGoAndTheRestStays) {
  EXPECT_EQ(BlankSecrets("listen: 10.0.0.1:7470\ntoken: s3cret\nnode: n1\n"),
            "listen: 10.0.0.1:7470\ntoken: (blanked)\nnode: n1\n");
  EXPECT_EQ(BlankSecrets("  tls_key: s3cret"), "  tls_key: (blanked)\n");
  EXPECT_EQ(BlankSecrets("COPSED_PASSWORD=s3cret\n# api_token: s3cret\n"),
            "COPSED_PASSWORD= (blanked)\n# api_token: (blanked)\n");
  EXPECT_EQ(BlankSecrets("{\"a\": 1, \"Secret\": \"s3cret\", \"b\": 2}\n"), "{\"a\": 1, \"Secret\": (blanked)\n");
  EXPECT_EQ(BlankSecrets("store: etcd://me:s3cret@p1:2379\n"), "store: etcd://(blanked)@p1:2379\n");
}

TEST(BlankSecretsTest, LinesThatContinueAValueGoWithIt) {
  EXPECT_EQ(BlankSecrets("token: |\n  s3cret\n\n  s3cret\nnode: n1\n"), "token: (blanked)\nnode: n1\n");
  EXPECT_EQ(BlankSecrets("tokens:\n- s3cret\n- s3cret\nnode: n1\n"), "tokens: (blanked)\nnode: n1\n");
  EXPECT_EQ(BlankSecrets("a:\n  key: \"s3cret\n    s3cret\"\n  b: 1\n"), "a:\n  key: (blanked)\n  b: 1\n");
}

TEST(BlankSecretsTest, PemGoesAsAWhole) {
  EXPECT_EQ(BlankSecrets("a: 1\n-----BEGIN PRIVATE KEY-----\ns3cret\n-----END PRIVATE KEY-----\nb: 2\n"),
            "a: 1\n(blanked)\nb: 2\n");
  EXPECT_EQ(BlankSecrets("-----BEGIN PRIVATE KEY-----\ns3cret\n"), "(blanked)\n") << "one that was cut";
}

TEST(BlankSecretsTest, NamesOfFilesThatAreThereStay) {
  EXPECT_EQ(BlankSecrets("tls_key: /dev/null\njoin_token_file: \"/dev/null\"\n"),
            "tls_key: /dev/null\njoin_token_file: \"/dev/null\"\n");
  EXPECT_EQ(BlankSecrets("tls_key: /s3cret/that+begins/with=a+slash\n"), "tls_key: (blanked)\n");
}

TEST(BlankSecretsTest, WordsWithoutAKeyGo) {
  EXPECT_EQ(BlankSecrets("s3cret\n"), "(blanked)\n");
  EXPECT_EQ(BlankSecrets(" c2VjcmV0+/==\n"), "(blanked)\n");
  EXPECT_EQ(BlankSecrets("{\n\"a\": 1\n}\nnodes:\n- n1\nA=1\n# a remark\n"),
            "{\n\"a\": 1\n}\nnodes:\n- n1\nA=1\n# a remark\n");
}

TEST(BlankSecretsTest, LongLinesGo) {
  EXPECT_EQ(BlankSecrets("a: " + std::string(1 << 20, 'x') + "\nb: 1\n"), "(blanked)\nb: 1\n");
}

}  // namespace
}  // namespace copse::ctl
