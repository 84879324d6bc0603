// SPDX-License-Identifier: Apache-2.0
#include "rpc/team_content.h"

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/encoding/compression.h"
#include "base/encoding/sha256.h"
#include "base/status_macros.h"
#include "rpc/control_conversion.h"
#include "schedule/plan.h"

namespace copse::rpc {
namespace {

absl::Status Bad(const std::string& what) { return absl::InvalidArgumentError(absl::StrCat("team content: ", what)); }

absl::StatusOr<std::string> BytesOf(const std::string& zstd) {
  absl::StatusOr<std::string> bytes = Decompressed(zstd, kMessageBytesMax);
  if (!bytes.ok()) return Bad(std::string(bytes.status().message()));
  return bytes;
}

}  // namespace

const std::string* ContentWindow::Use(const std::string& sha256) {
  const auto it = std::find_if(contents_.begin(), contents_.end(),
                               [&](const Content& content) { return content.sha256 == sha256; });
  if (it == contents_.end()) return nullptr;
  std::rotate(it, it + 1, contents_.end());
  return &contents_.back().zstd;
}

void ContentWindow::Add(const std::string& sha256, std::string zstd, size_t size) {
  contents_.push_back({sha256, std::move(zstd), size});
  size_t first = contents_.size(), bytes = 0;
  while (first > 0 && contents_.size() - first < kContentsMax) {
    bytes += contents_[first - 1].size;
    if (bytes > kContentBytesMax && first < contents_.size()) break;
    --first;
  }
  contents_.erase(contents_.begin(), contents_.begin() + static_cast<std::ptrdiff_t>(first));
}

namespace {

void ClearAddresses(v1::TeamLayout* layout) {
  for (v1::TeamNode& node : *layout->mutable_nodes()) node.clear_worker_address();
}

// Moves what all members are told alike from the message, and returns it encoded.
std::string TakeShared(v1::Prepare* prepare) {
  v1::Prepare shared;
  shared.mutable_layout()->mutable_nodes()->Swap(prepare->mutable_layout()->mutable_nodes());
  shared.mutable_layout()->mutable_node_of_rank()->Swap(prepare->mutable_layout()->mutable_node_of_rank());
  shared.mutable_plans()->Swap(prepare->mutable_plans());
  for (std::string& plan : *shared.mutable_plans()) {
    prepare->add_plan_ids(schedule::PlanIdIn(plan).value());
    schedule::SetPlanIdIn(PlanId(0), &plan);
  }
  return shared.SerializeAsString();
}

}  // namespace

SplitPrepare Split(v1::Prepare prepare, uint64_t contacts) {
  SplitPrepare split;
  const auto nodes = static_cast<uint64_t>(prepare.layout().nodes_size());
  // An address in the content is compressed and kept once, but sent to all.
  if (contacts < nodes * nodes / 2) {
    for (v1::TeamNode& node : *prepare.mutable_layout()->mutable_nodes()) {
      split.addresses.push_back(std::move(*node.mutable_worker_address()));
      node.clear_worker_address();
    }
  }
  const std::string bytes = TakeShared(&prepare);
  split.content.set_sha256(Sha256(bytes));
  split.content.set_zstd(Compressed(bytes));
  prepare.set_content(split.content.sha256());
  split.head = std::move(prepare);
  return split;
}

absl::Status CheckContent(const v1::TeamContent& content) {
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(content.zstd()));
  if (Sha256(bytes) != content.sha256()) {
    return Bad(absl::StrCat("it is not what its name says (bytes=", bytes.size(), ")"));
  }
  return absl::OkStatus();
}

namespace {

absl::Status JoinBytes(const std::string& zstd, v1::Prepare* prepare) {
  ASSIGN_OR_RETURN(const std::string bytes, BytesOf(zstd));
  // What came twice is merged, and judged where all messages are.
  if (!prepare->MergeFromString(bytes)) return Bad(absl::StrCat("it is no message (bytes=", bytes.size(), ")"));
  prepare->clear_content();
  if (prepare->plan_ids_size() != prepare->plans_size()) {
    return Bad(absl::StrCat("ids of plans (ids=", prepare->plan_ids_size(), ", plans=", prepare->plans_size(), ")"));
  }
  for (int i = 0; i < prepare->plans_size(); ++i) {
    std::string* const plan = prepare->mutable_plans(i);
    if (plan->size() < schedule::kEncodedIdEnd) {
      return Bad(absl::StrCat("a plan is too short (bytes=", plan->size(), ", least=", schedule::kEncodedIdEnd, ")"));
    }
    schedule::SetPlanIdIn(PlanId(prepare->plan_ids(i)), plan);
  }
  for (v1::NodeContact& contact : *prepare->mutable_contacts()) {
    const auto nodes = static_cast<uint32_t>(prepare->layout().nodes_size());
    if (contact.node() >= nodes) {
      return Bad(absl::StrCat("the address of an unknown node (node=", contact.node(), ", nodes=", nodes, ")"));
    }
    v1::TeamNode* const node = prepare->mutable_layout()->mutable_nodes(static_cast<int>(contact.node()));
    node->set_worker_address(std::move(*contact.mutable_worker_address()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Join(ContentWindow* window, v1::Prepare* prepare) {
  const std::string* const zstd = window->Use(prepare->content());
  if (zstd == nullptr) return Bad("a Prepare names one that has not come before it");
  return JoinBytes(*zstd, prepare);
}

v1::TeamContent TakeContent(v1::RunningTeam* running) {
  v1::Prepare whole;
  whole.mutable_layout()->Swap(running->mutable_layout());
  whole.mutable_plans()->Swap(running->mutable_plans());
  ClearAddresses(whole.mutable_layout());
  SplitPrepare split = Split(std::move(whole), 0);
  running->mutable_layout()->Swap(split.head.mutable_layout());
  running->mutable_plan_ids()->Swap(split.head.mutable_plan_ids());
  running->set_content(split.content.sha256());
  return std::move(split.content);
}

std::string ContentName(const schedule::TeamLayout& layout, const std::vector<std::string>& plans) {
  v1::ToDaemon message;
  ToProto(schedule::Prepare{.layout = layout, .plans = plans}, &message);
  ClearAddresses(message.mutable_prepare()->mutable_layout());
  return Sha256(TakeShared(message.mutable_prepare()));
}

absl::Status PutContent(const v1::TeamContent& content, v1::RunningTeam* running) {
  v1::Prepare whole;
  whole.mutable_layout()->Swap(running->mutable_layout());
  whole.mutable_plan_ids()->Swap(running->mutable_plan_ids());
  const absl::Status joined = JoinBytes(content.zstd(), &whole);
  running->mutable_layout()->Swap(whole.mutable_layout());
  running->mutable_plans()->Swap(whole.mutable_plans());
  running->clear_content();
  return joined;
}

}  // namespace copse::rpc
