// SPDX-License-Identifier: Apache-2.0
//
// Streams of rows over real gRPC. The test is the planner's thread.
#include "planner/admin/row_stream.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "gtest/gtest.h"
#include "proto/copse/v1/admin_service.grpc.pb.h"

namespace copse::planner {
namespace {

constexpr size_t kRowBytes = 100'000;

class RowStreamTest : public ::testing::Test, public v1::AdminService::CallbackService {
 protected:
  RowStreamTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);  // the window of a stream that is not read stays small
    stub_ = v1::AdminService::NewStub(
        grpc::CreateCustomChannel(absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials(), arguments));
  }
  ~RowStreamTest() override {
    bool is_down = false;  // belongs to the queue's thread
    // The server waits for streams, of which a write may have ended only now.
    std::thread planner([&] {
      while (!is_down) queue_.RunUntil(absl::InfiniteFuture());
    });
    server_->Shutdown(std::chrono::system_clock::now());
    server_->Wait();
    queue_.Post([&is_down] { is_down = true; });
    planner.join();
    queue_.RunUntil(absl::InfinitePast());  // the streams' last references
  }

  grpc::ServerWriteReactor<v1::ListNodesReply>* StreamNodes(grpc::CallbackServerContext*,
                                                            const v1::ListNodesRequest*) override {
    stream_ = new RowStream<v1::ListNodesReply>(&queue_, &sender_, [this](const grpc::Status& status) {
      if (std::exchange(has_ended_, true)) return;
      stream_->End(status);
    });
    queue_.Post([this] {
      stream_->Begin([this](v1::ListNodesReply* reply) -> size_t {
        if (made_ == rows_) return 0;
        reply->add_nodes()->set_name(absl::StrCat(++made_, std::string(kRowBytes, '.')));
        return kRowBytes;
      });
    });
    return stream_;
  }

  const MonotonicClock clock_;
  TaskQueue queue_{&clock_};
  TaskThread sender_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::AdminService::Stub> stub_;
  RowStream<v1::ListNodesReply>* stream_ = nullptr;
  bool has_ended_ = false;
  size_t rows_ = 0;  // rows of the list
  size_t made_ = 0;
};

TEST_F(RowStreamTest, AllRowsComeInOrderAndInPieces) {
  rows_ = 100;
  grpc::ClientContext context;
  const auto reader = stub_->StreamNodes(&context, {});
  std::thread planner([this] {
    while (!has_ended_) queue_.RunUntil(absl::InfiniteFuture());
  });
  v1::ListNodesReply piece;
  size_t rows = 0, pieces = 0;
  for (; reader->Read(&piece); ++pieces) {
    EXPECT_LE(piece.ByteSizeLong(), kPieceBytesMax + 2 * kRowBytes);
    for (const v1::NodeRow& row : piece.nodes()) {
      EXPECT_EQ(row.name().substr(0, row.name().find('.')), absl::StrCat(++rows));
    }
  }
  EXPECT_TRUE(reader->Finish().ok());
  planner.join();
  EXPECT_EQ(rows, rows_);
  EXPECT_GE(pieces, rows_ * kRowBytes / (kPieceBytesMax + kRowBytes));
}

TEST_F(RowStreamTest, AnEmptyListEnds) {
  grpc::ClientContext context;
  const auto reader = stub_->StreamNodes(&context, {});
  std::thread planner([this] {
    while (!has_ended_) queue_.RunUntil(absl::InfiniteFuture());
  });
  v1::ListNodesReply piece;
  while (reader->Read(&piece)) EXPECT_EQ(piece.nodes_size(), 0);
  EXPECT_TRUE(reader->Finish().ok());
  planner.join();
}

TEST_F(RowStreamTest, ACallerWhoDoesNotReadCostsFewRowsAndMayGo) {
  rows_ = 100'000;  // 10 GB
  grpc::ClientContext context;
  const auto reader = stub_->StreamNodes(&context, {});
  while (made_ == 0) queue_.RunUntil(absl::InfiniteFuture());
  // No row is made while no piece is written; a server that did not wait would make hundreds.
  const absl::Time end = clock_.Now() + absl::Milliseconds(300);
  while (clock_.Now() < end) queue_.RunUntil(end);
  const size_t made = made_;
  EXPECT_LT(made, 100u);
  EXPECT_FALSE(has_ended_);
  context.TryCancel();
  while (!has_ended_) queue_.RunUntil(absl::InfiniteFuture());
  EXPECT_LE(made_, made + 2 * kPieceBytesMax / kRowBytes + 2);
}

}  // namespace
}  // namespace copse::planner
