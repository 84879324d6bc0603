// SPDX-License-Identifier: Apache-2.0
#include "rpc/audit.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/copse/v1/admin.pb.h"

namespace copse::rpc {
namespace {

TEST(AuditTest, ALineSaysWhoDidWhat) {
  v1::DrainNodeRequest request;
  request.set_node("n1\nn2");
  AuditRecord record{.who = "operator/alice",
                     .from = "ipv4:10.0.0.1:5",
                     .method = "DrainNode",
                     .request = DescribeRequest(request),
                     .duration = absl::Milliseconds(3)};
  EXPECT_EQ(FormatAudit(record),
            "audit: operator/alice has called DrainNode {node: \"n1\\nn2\"} (from=ipv4:10.0.0.1:5, result=OK, "
            "duration_ms=3)");
  record.result = absl::NotFoundError("node n1: unknown");
  EXPECT_EQ(FormatAudit(record),
            "audit: operator/alice has called DrainNode {node: \"n1\\nn2\"}: node n1: unknown (from=ipv4:10.0.0.1:5, "
            "result=NOT_FOUND, duration_ms=3)");
}

TEST(AuditTest, LongRequestsAreCut) {
  v1::DrainNodeRequest request;
  request.set_node(std::string(1000, 'x'));
  EXPECT_LT(DescribeRequest(request).size(), 300u);
  EXPECT_TRUE(DescribeRequest(request).ends_with("(1003 bytes)"));
  request.set_node(std::string(100000, 'x'));
  EXPECT_EQ(DescribeRequest(request), "(100004 bytes)");
}

// Also of a call that fails: somebody may name a key's file instead of a topology's.
TEST(AuditTest, ContentsOfFilesAreCountedOnly) {
  v1::ImportTopologyRequest request;
  request.mutable_source()->set_file("planner.key");
  request.mutable_source()->set_text("secret");
  EXPECT_EQ(DescribeRequest(request), "source { file: \"planner.key\" text: (6 bytes) }");
}

}  // namespace
}  // namespace copse::rpc
