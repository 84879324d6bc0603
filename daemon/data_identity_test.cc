// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_identity.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <string>

#include "base/testing/status_matchers.h"
#include "offload_emu/tcp/testing/test_authority.h"
#include "rpc/testing/identity_files.h"

namespace copse::daemon {
namespace {

using copse::testing::FailsWith;

class DataIdentityTest : public ::testing::Test {
 protected:
  DataIdentityTest() {
    files_.revoked = std::string(getenv("TEST_TMPDIR")) + "/revoked";
    std::filesystem::create_directory(files_.revoked);
    rpc::WriteSecretFile(files_.revoked + "/list.pem", authority_.Revoke({}));
    mailbox_ = *Mailbox::Create();
    auto opened = DataIdentity::Open(files_, &worker_, mailbox_.get());
    EXPECT_TRUE(opened.ok()) << opened.status();
    identity_ = *std::move(opened);
  }
  // Reads the files again, and returns whether a new identity was to be used.
  bool RereadsAnother() {
    bool is_new = false, is_done = false;
    identity_->Reread([&](const std::shared_ptr<const emu::TlsIdentity>& used) {
      is_new = true;
      EXPECT_EQ(used->node(), "n1");
    });
    worker_.Post([&] { mailbox_->Post([&] { is_done = true; }); });
    while (!is_done) {
      pollfd event{mailbox_->event_fd(), POLLIN, 0};
      poll(&event, 1, 10);
      mailbox_->Drain();
    }
    return is_new;
  }

  const emu::TestAuthority authority_;
  config::TlsFiles files_ = rpc::WriteRole(authority_, "node", "n1");
  std::unique_ptr<Mailbox> mailbox_;
  Worker worker_;
  std::unique_ptr<DataIdentity> identity_;
};

TEST_F(DataIdentityTest, ChangedFilesAreUsedOnce) {
  EXPECT_EQ(identity_->first()->node(), "n1");
  EXPECT_FALSE(RereadsAnother());
  rpc::WriteSecretFile(files_.revoked + "/list.pem", authority_.Revoke({66}));
  EXPECT_TRUE(RereadsAnother());
  EXPECT_FALSE(RereadsAnother());
  rpc::WriteRole(authority_, "node", "n1");
  EXPECT_TRUE(RereadsAnother());
}

TEST_F(DataIdentityTest, FilesThatCannotBeUsedChangeNothing) {
  rpc::WriteSecretFile(files_.revoked + "/list.pem", "nonsense");
  EXPECT_FALSE(RereadsAnother());
  EXPECT_FALSE(RereadsAnother());
  rpc::WriteSecretFile(files_.revoked + "/list.pem", authority_.Revoke({66}));
  EXPECT_TRUE(RereadsAnother());
  const emu::TestCertificate other = authority_.IssueNode("n2");
  rpc::WriteSecretFile(files_.certificate, other.certificate);
  EXPECT_FALSE(RereadsAnother()) << "the key does not fit";
  rpc::WriteSecretFile(files_.key, other.key);
  EXPECT_FALSE(RereadsAnother()) << "it is another node's";
}

TEST_F(DataIdentityTest, AMissingFileIsNamed) {
  std::filesystem::remove(files_.certificate);
  EXPECT_THAT(DataIdentity::Open(files_, &worker_, mailbox_.get()),
              FailsWith(absl::StatusCode::kNotFound, "tls_cert: ", files_.certificate));
}

}  // namespace
}  // namespace copse::daemon
