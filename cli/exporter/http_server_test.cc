// SPDX-License-Identifier: Apache-2.0
//
// Tests starts and ends; exporter_test and copse-web's tests have the rest.
#include "cli/exporter/http_server.h"

#include <gtest/gtest.h>

namespace copse::exporter {
namespace {

TEST(HttpServerTest, EndsWhenItHasJustBegun) {
  for (int i = 0; i < 100; ++i) {
    const auto server = HttpServer::Start("127.0.0.1:0", nullptr, [](Routes*) {});
    ASSERT_TRUE(server.ok()) << server.status();
  }
}

}  // namespace
}  // namespace copse::exporter
