// SPDX-License-Identifier: Apache-2.0
#include "cli/client/admin_client.h"

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/server_builder.h>

#include <memory>
#include <string>

#include "base/testing/status_matchers.h"
#include "gtest/gtest.h"
#include "rpc/message_bytes.h"

namespace copse::ctl {
namespace {

using testing::IsOk;

// HTTP/2 lets a client send 64 KiB to a server that does not read.
constexpr size_t kMoreThanIsTaken = 1 << 20;

class Answer final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Answer(const google::protobuf::MessageLite& message) {
    const grpc::Slice slice = rpc::Encoded(message);
    bytes_ = grpc::ByteBuffer(&slice, 1);
    StartWriteAndFinish(&bytes_, {}, grpc::Status::OK);
  }
  void OnDone() override { delete this; }

 private:
  grpc::ByteBuffer bytes_;
};

// A HastyService answers each call when it knows the method, as a planner that stands by does.
class HastyService final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext* /*context*/) override {
    v1::GetPlannerStatusReply reply;
    reply.set_role("standby");
    return new Answer(reply);
  }
};

TEST(AdminClientTest, HasTheAnswerOfAServerThatHasNotReadTheRequest) {
  HastyService service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterCallbackGenericService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const auto client = AdminClient::Create({.endpoint = "127.0.0.1:" + std::to_string(port)}).value();
  v1::GetPlannerStatusRequest request;
  request.GetReflection()->MutableUnknownFields(&request)->AddLengthDelimited(1000, std::string(kMoreThanIsTaken, 'x'));
  const absl::StatusOr<v1::GetPlannerStatusReply> reply = client->Call(PlannerAdmin::GetPlannerStatus, request);
  ASSERT_THAT(reply, IsOk());
  EXPECT_EQ(reply->role(), "standby");
}

}  // namespace
}  // namespace copse::ctl
