// SPDX-License-Identifier: Apache-2.0
#include "client/run/job_authority.h"

#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

#include <cstdio>
#include <memory>
#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"

namespace copse::run {
namespace {

using copse::testing::FailsWith;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

JobIdentity Identity(const std::string& secret, const std::string& role, const std::string& name) {
  auto made = MakeJobIdentity(secret, role, name);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// Returns the file that a setting KEY=PATH names.
std::string FileOf(const std::string& setting) { return setting.substr(setting.find('=') + 1); }

Certificate Read(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"), &std::fclose);
  Certificate certificate(file == nullptr ? nullptr : PEM_read_X509(file.get(), nullptr, nullptr, nullptr), &X509_free);
  EXPECT_NE(certificate, nullptr) << path;
  return certificate;
}

// Whether who has the one identity believes the certificate of the other.
bool Believes(const JobIdentity& identity, const JobIdentity& other) {
  const Certificate authority = Read(FileOf(identity.settings()[2])), certificate = Read(FileOf(other.settings()[0]));
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
  const JobIdentity planner = Identity(secret, "planner", "job"), node = Identity(secret, "node", "n1");
  EXPECT_TRUE(Believes(planner, node));
  EXPECT_TRUE(Believes(node, planner));
  EXPECT_FALSE(Believes(planner, Identity(other, "node", "n1")));
}

TEST(JobAuthorityTest, OnlyTheOwnerReadsTheFilesWhichProgramsInheritAndNoDiskHas) {
  const JobIdentity identity = Identity(*NewJobSecret(), "node", "n1");
  for (const UniqueFd* file : {&identity.certificate, &identity.key, &identity.authority}) {
    struct stat about;
    ASSERT_EQ(fstat(file->get(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0400u);
    EXPECT_EQ(about.st_nlink, 0u);
    EXPECT_EQ(fcntl(file->get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST(JobAuthorityTest, WhatIsNoSecretOrNoNameIsRefused) {
  EXPECT_THAT(MakeJobIdentity("abc", "node", "n1"),
              FailsWith(absl::StatusCode::kInvalidArgument, "digits=3", "limit=64"));
  EXPECT_THAT(MakeJobIdentity(std::string(64, 'g'), "node", "n1"),
              FailsWith(absl::StatusCode::kInvalidArgument, "digits=64"));
  EXPECT_THAT(MakeJobIdentity(*NewJobSecret(), "node", "n1,URI:spiffe://copse-run/planner/job"),
              FailsWith(absl::StatusCode::kInvalidArgument, "name=n1,URI"));
}

}  // namespace
}  // namespace copse::run
