// SPDX-License-Identifier: Apache-2.0
#include "base/config/service_keys.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace copse::config {
namespace {

TEST(ServiceKeysTest, TheKeysFollowTheCertificates) {
  std::vector<std::string> names;
  for (const Key& key : WithTlsKeys({{.name = "listen"}, {.name = "tls_cert"}, {.name = "insecure"}})) {
    names.push_back(key.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"listen", "tls_cert", "tls_key", "tls_ca", "tls_crl_dir", "insecure"}));
}

TEST(ServiceKeysTest, AServiceHasTheKeysOfItsProcess) {
  std::vector<std::string> names;
  for (const Key& key : WithServiceKeys({{.name = "tls_cert"}})) names.push_back(key.name);
  EXPECT_EQ(names, (std::vector<std::string>{"tls_cert", "tls_key", "tls_ca", "tls_crl_dir", "core_memory", "log_level",
                                             "log_file"}));
}

TEST(ServiceKeysTest, TheFilesAreThoseOfTheKeys) {
  Config config("program", WithTlsKeys({{.name = "tls_cert"}}));
  Sources sources;
  sources.environment.emplace();
  ASSERT_TRUE(config.Load(sources).ok());
  EXPECT_FALSE(TlsFilesOf(config, "n1")->given());
  sources.settings = {"tls_cert=/c/%h.pem", "tls_key=/k", "tls_ca=/a"};
  ASSERT_TRUE(config.Load(sources).ok());
  const absl::StatusOr<TlsFiles> files = TlsFilesOf(config, "n1");
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->certificate, "/c/n1.pem");
  EXPECT_EQ(files->key, "/k");
  EXPECT_EQ(files->authorities, "/a");
  EXPECT_EQ(files->revoked, "");
  sources.settings = {"tls_crl_dir=/r"};
  ASSERT_TRUE(config.Load(sources).ok());
  EXPECT_EQ(TlsFilesOf(config, "n1").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace copse::config
