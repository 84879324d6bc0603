// SPDX-License-Identifier: Apache-2.0
//
// libcopse's habits that a real daemon has to put up with.
#include <string>
#include <vector>

#include "client/copse.h"
#include "integration_tests/procs/cluster_fixture.h"

namespace copse::procs {
namespace {

class LibcopseTest : public ClusterFixture {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_.Start({.nodes = 1}).ok());
    const std::string socket = cluster_.SocketOf(0);
    copse_init_params_t params{};
    params.mask = COPSE_INIT_PARAM_FIELD_SOCKET;
    params.socket = socket.c_str();
    ASSERT_EQ(copse_init(&params, &context_), COPSE_OK) << copse_last_error();
  }
  void TearDown() override {
    EXPECT_EQ(copse_fini(context_), COPSE_OK) << copse_last_error();
    ClusterFixture::TearDown();
  }

  copse_context_t* context_ = nullptr;
};

TEST_F(LibcopseTest, FreesAllItsBuffersInARow) {
  // Each is a region of its own, and there may be 256 of them.
  std::vector<void*> buffers(250);
  for (int round = 0; round < 4; ++round) {
    for (void*& buffer : buffers) {
      ASSERT_EQ(copse_alloc(context_, 600'000, &buffer), COPSE_OK) << copse_last_error();
    }
    for (void* const buffer : buffers) ASSERT_EQ(copse_free(context_, buffer), COPSE_OK) << copse_last_error();
    EXPECT_EQ(copse_ping(context_, -1), COPSE_OK) << round << ": " << copse_last_error();
  }
}

}  // namespace
}  // namespace copse::procs
