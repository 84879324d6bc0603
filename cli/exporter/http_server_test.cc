// SPDX-License-Identifier: Apache-2.0
//
// Tests starts, ends, and clients that keep the server busy; exporter_test and copse-web's tests have the rest.
#include "cli/exporter/http_server.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/testing/descriptor_limit.h"
#include "base/testing/loopback_socket.h"
#include "base/unique_fd.h"
#include "cli/exporter/http_connection.h"

namespace copse::exporter {
namespace {

// More than sockets' buffers hold; three of them are within the server's limit.
constexpr size_t kLargeBytes = HttpServer::kAnswerBytesMax / 4 + 1;
constexpr char kAskForSmall[] = "GET /small HTTP/1.1\r\n\r\n";
constexpr char kAskForLarge[] = "GET /large HTTP/1.1\r\n\r\n";

TEST(HttpServerTest, EndsWhenItHasJustBegun) {
  for (int i = 0; i < 100; ++i) {
    const auto server = HttpServer::Start("127.0.0.1:0", nullptr, [](Routes*) {});
    ASSERT_TRUE(server.ok()) << server.status();
  }
}

class HttpServerClientsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpServer::Start("127.0.0.1:0", nullptr, [](Routes* routes) {
      routes->Add("/small", [](const httplib::Request&, httplib::Response& response) {
        response.set_content("small", "text/x-test");
      });
      routes->Add("/large", [](const httplib::Request&, httplib::Response& response) {
        response.set_content(std::string(kLargeBytes, 'x'), "text/x-test");
      });
    });
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }

  void Connect(const UniqueFd& fd) const { copse::testing::ConnectTo(server_->address(), fd); }
  UniqueFd Asking(const std::string& request) const {
    UniqueFd fd = copse::testing::LoopbackSocket();
    Connect(fd);
    EXPECT_EQ(send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL), static_cast<ssize_t>(request.size()));
    return fd;
  }
  static bool IsAnswered(const UniqueFd& fd) {
    char first = 0;
    return recv(fd.get(), &first, 1, MSG_PEEK) == 1;
  }
  // Returns all that comes until the connection ends.
  static std::string AnswerOn(const UniqueFd& fd) {
    std::string text;
    std::vector<char> data(1 << 16);
    for (ssize_t got = 0; (got = recv(fd.get(), data.data(), data.size(), 0)) > 0;) {
      text.append(data.data(), static_cast<size_t>(got));
    }
    return text;
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerClientsTest, ARequestMayComeByteForByte) {
  const UniqueFd fd = copse::testing::LoopbackSocket();
  Connect(fd);
  for (const char& byte : std::string(kAskForSmall)) ASSERT_EQ(send(fd.get(), &byte, 1, MSG_NOSIGNAL), 1);
  const std::string answer = AnswerOn(fd);
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 200 ")) << answer;
  EXPECT_TRUE(absl::EndsWith(answer, "\r\n\r\nsmall")) << answer;
}

TEST_F(HttpServerClientsTest, ARequestThatIsTooLongIsRefused) {
  std::string request = "GET /small HTTP/1.1\r\nX: ";
  request.resize(HttpConnection::kRequestBytesMax, 'x');
  const std::string answer = AnswerOn(Asking(request));
  EXPECT_TRUE(absl::StartsWith(answer, "HTTP/1.1 400 ")) << answer;
}

TEST_F(HttpServerClientsTest, ClientsThatDoNotReadKeepNobodyWaiting) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 200; ++i) idle.push_back(Asking(i < 3 ? kAskForLarge : ""));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(IsAnswered(idle[i]));
  EXPECT_TRUE(absl::EndsWith(AnswerOn(Asking(kAskForSmall)), "small"));
  // The server has not waited for them: it still has their answers.
  for (int i = 0; i < 3; ++i) EXPECT_GT(AnswerOn(idle[i]).size(), kLargeBytes);
}

TEST_F(HttpServerClientsTest, AnswersThatNobodyTakesAreBounded) {
  std::vector<UniqueFd> idle;
  for (int i = 0; i < 5; ++i) {
    idle.push_back(Asking(kAskForLarge));
    ASSERT_TRUE(IsAnswered(idle.back()));
  }
  EXPECT_GT(AnswerOn(idle.back()).size(), kLargeBytes);
  for (int i = 0; i < 2; ++i) EXPECT_LT(AnswerOn(idle[i]).size(), kLargeBytes);
}

TEST_F(HttpServerClientsTest, ConnectionsAreBounded) {
  const DescriptorLimit enough(2 * HttpServer::kConnectionsMax + 100);
  std::vector<UniqueFd> idle;
  for (size_t i = 0; i < HttpServer::kConnectionsMax; ++i) idle.push_back(Asking(""));
  EXPECT_TRUE(absl::EndsWith(AnswerOn(Asking(kAskForSmall)), "small"));
  EXPECT_EQ(AnswerOn(idle.front()), "");
}

TEST_F(HttpServerClientsTest, WithoutDescriptorsTheOldestConnectionEnds) {
  const UniqueFd idle = Asking("");
  EXPECT_TRUE(absl::EndsWith(AnswerOn(Asking(kAskForSmall)), "small"));  // so that the earlier one is accepted
  const UniqueFd late = copse::testing::LoopbackSocket();
  const DescriptorLimit famine(0);
  Connect(late);
  ASSERT_EQ(send(late.get(), kAskForSmall, sizeof(kAskForSmall) - 1, MSG_NOSIGNAL),
            static_cast<ssize_t>(sizeof(kAskForSmall) - 1));
  EXPECT_TRUE(absl::EndsWith(AnswerOn(late), "small"));
  EXPECT_EQ(AnswerOn(idle), "");
}

}  // namespace
}  // namespace copse::exporter
