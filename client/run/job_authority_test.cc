// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_authority.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

std::string NewFolder() {
  std::string folder = std::string(getenv("TEST_TMPDIR")) + "/XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  return folder;
}

std::string Identity(const std::string& secret, const std::string& role, const std::string& name) {
  const std::string folder = NewFolder();
  const auto written = WriteJobIdentity(secret, role, name, folder);
  EXPECT_TRUE(written.ok()) << written.status();
  return folder;
}

Certificate Read(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), &std::fclose);
  Certificate certificate(file == nullptr ? nullptr : PEM_read_X509(file.get(), nullptr, nullptr, nullptr), &X509_free);
  EXPECT_NE(certificate, nullptr) << path;
  return certificate;
}

// Whether who has the one folder believes the certificate of the other.
bool Believes(const std::string& folder, const std::string& other) {
  const Certificate authority = Read(folder + "/ca.pem"), certificate = Read(other + "/cert.pem");
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(), &X509_STORE_free);
  const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(X509_STORE_CTX_new(),
                                                                              &X509_STORE_CTX_free);
  X509_STORE_add_cert(store.get(), authority.get());
  X509_STORE_CTX_init(check.get(), store.get(), certificate.get(), nullptr);
  return X509_verify_cert(check.get()) == 1;
}

TEST(JobAuthorityTest, WhoHasTheSameSecretIsBelieved) {
  const std::string secret = *NewJobSecret(), other = *NewJobSecret();
  EXPECT_NE(secret, other);
  const std::string planner = Identity(secret, "planner", "job"), node = Identity(secret, "node", "n1");
  EXPECT_TRUE(Believes(planner, node));
  EXPECT_TRUE(Believes(node, planner));
  EXPECT_FALSE(Believes(planner, Identity(other, "node", "n1")));
}

TEST(JobAuthorityTest, OnlyTheOwnerReadsTheFiles) {
  const std::string folder = Identity(*NewJobSecret(), "node", "n1");
  for (const char* name : {"/cert.pem", "/key.pem", "/ca.pem"}) {
    struct stat about;
    ASSERT_EQ(stat((folder + name).c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0400u) << name;
  }
}

TEST(JobAuthorityTest, WhatIsNoSecretOrNoFolderIsRefused) {
  EXPECT_THAT(WriteJobIdentity("abc", "node", "n1", NewFolder()),
              FailsWith(absl::StatusCode::kInvalidArgument, "digits=3", "limit=64"));
  EXPECT_THAT(WriteJobIdentity(std::string(64, 'g'), "node", "n1", NewFolder()),
              FailsWith(absl::StatusCode::kInvalidArgument, "digits=64"));
  EXPECT_THAT(WriteJobIdentity(*NewJobSecret(), "node", "n1,URI:spiffe://copse-run/planner/job", NewFolder()),
              FailsWith(absl::StatusCode::kInvalidArgument, "name=n1,URI"));
  EXPECT_THAT(WriteJobIdentity(*NewJobSecret(), "node", "n1", "/no/such/folder"),
              FailsWith(absl::StatusCode::kUnavailable, "file=/no/such/folder/cert.pem"));
}

}  // namespace
}  // namespace copse::run
