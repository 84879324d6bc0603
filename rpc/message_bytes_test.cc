// SPDX-License-Identifier: Apache-2.0
#include "rpc/message_bytes.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "proto/copse/v1/control.pb.h"

namespace copse::rpc {
namespace {

TEST(MessageBytesTest, PartsMakeOneMessage) {
  v1::Prepare own, shared;
  own.add_requests()->set_request(9);
  shared.mutable_layout()->set_id(7);
  shared.set_epoch(2);
  for (int i = 0; i < 3; ++i) shared.add_plans(std::string(100'000, 'p'));
  const std::vector<grpc::Slice> parts = {Encoded(own), Encoded(shared)};
  const grpc::ByteBuffer bytes = WithField(v1::ToDaemon::kPrepareFieldNumber, parts);
  v1::ToDaemon whole, decoded;
  *whole.mutable_prepare() = shared;
  whole.mutable_prepare()->MergeFrom(own);
  EXPECT_EQ(bytes.Length(), whole.ByteSizeLong());
  ASSERT_TRUE(Decode(bytes, &decoded));
  EXPECT_EQ(decoded.SerializeAsString(), whole.SerializeAsString());
}

TEST(MessageBytesTest, PartsAreSharedNotCopied) {
  v1::Prepare shared;
  shared.add_plans(std::string(100'000, 'p'));
  const grpc::Slice part = Encoded(shared);
  std::vector<grpc::Slice> slices;
  ASSERT_TRUE(WithField(v1::ToDaemon::kPrepareFieldNumber, {&part, 1}).Dump(&slices).ok());
  EXPECT_EQ(slices.back().begin(), part.begin());
}

TEST(MessageBytesTest, OtherBytesAreNoMessage) {
  const grpc::Slice cut(
      "\x22\x7f"
      "cut");
  v1::ToDaemon message;
  EXPECT_FALSE(Decode(grpc::ByteBuffer(&cut, 1), &message));
  EXPECT_FALSE(Decode(grpc::ByteBuffer(), &message));
}

}  // namespace
}  // namespace copse::rpc
