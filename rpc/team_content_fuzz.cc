// SPDX-License-Identifier: Apache-2.0
//
// Fuzzes the contents that a planner sends, and a Prepare that names one. The first two bytes are the length of the
// content, which is taken as it is, and then uncompressed.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/encoding/compression.h"
#include "proto/copse/v1/control.pb.h"
#include "rpc/control_conversion.h"
#include "rpc/team_content.h"
#include "schedule/testing/sample_plans.h"
#include "tools/fuzzing/target.h"

namespace copse::fuzzing {
namespace {

void JoinOne(std::string zstd, std::string_view head) {
  v1::TeamContent content;
  content.set_zstd(zstd);
  (void)rpc::CheckContent(content);
  v1::ToDaemon message;
  if (!message.mutable_prepare()->ParseFromArray(head.data(), static_cast<int>(head.size()))) return;
  rpc::ContentWindow window;
  const size_t size = zstd.size();
  window.Add(message.prepare().content(), std::move(zstd), size);
  if (rpc::Join(&window, message.mutable_prepare()).ok()) (void)rpc::FromProto(message);
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const uint32_t nodes : {1u, 3u, 20u}) {
    for (const bool compressed : {false, true}) {
      schedule::Prepare prepare{.epoch = EpochId(1)};
      prepare.layout = {.id = TeamId(9), .shape = {.node_of_rank = {}, .node_count = nodes}};
      for (uint32_t node = 0; node < nodes; ++node) {
        prepare.layout.shape.node_of_rank.push_back(NodeIndex(node));
        prepare.layout.nodes.push_back({std::string(1, static_cast<char>('a' + node)), Incarnation(node), "address"});
      }
      prepare.plans.push_back(schedule::EncodePlan(schedule::RandomTreePlan(Collective::kBcast, nodes, nodes)));
      v1::ToDaemon message;
      rpc::ToProto(prepare, &message);
      rpc::SplitPrepare split = rpc::Split(message.prepare(), 0);
      split.head.add_contacts()->set_node(nodes - 1);
      const std::string body =
          compressed ? split.content.zstd() : Decompressed(split.content.zstd(), rpc::kMessageBytesMax).value();
      ByteWriter length;
      length.Put(static_cast<uint16_t>(body.size()));
      seeds.push_back(length.Take() + body + split.head.SerializeAsString());
    }
  }
  return seeds;
}

void OneInput(std::string_view bytes) {
  ByteReader in(bytes.substr(0, 2));
  const auto length = in.Get<uint16_t>();
  if (!in.ok() || bytes.size() < size_t{2} + length) return;
  const std::string_view content = bytes.substr(2, length);
  const std::string_view head = bytes.substr(size_t{2} + length);
  JoinOne(std::string(content), head);
  JoinOne(Compressed(content), head);
}

}  // namespace copse::fuzzing
