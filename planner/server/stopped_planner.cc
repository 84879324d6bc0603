// SPDX-License-Identifier: Apache-2.0
#include "planner/server/stopped_planner.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/files.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "planner/etcd/etcd_client.h"
#include "planner/etcd/leadership.h"
#include "planner/server/open_store.h"
#include "planner/store/saved_state.h"

namespace copse::planner {
namespace {

// A planner that has ended without a word leads for its lease, so this is longer than the usual one.
constexpr absl::Duration kCampaignMax = absl::Seconds(15);

// A Campaign waits for the leadership.
class Campaign : public LeadershipEvents {
 public:
  // Returns the fence. FAILED_PRECONDITION if another planner leads for kCampaignMax, UNAVAILABLE if etcd is silent.
  absl::StatusOr<int64_t> Await() {
    MutexLock lock(&mutex_);
    while (fence_ == 0) {
      if (changed_.WaitFor(&mutex_, kCampaignMax)) continue;
      if (leader_.empty()) return absl::UnavailableError("etcd: no answer");
      return absl::FailedPreconditionError(
          absl::StrCat("a planner leads; stop all of them first (leader=", leader_, ")"));
    }
    return fence_;
  }

  void OnLeader(const std::string& address, int64_t) override {
    MutexLock lock(&mutex_);
    leader_ = address;
  }
  void OnWon(int64_t fence) override {
    MutexLock lock(&mutex_);
    fence_ = fence;
    changed_.NotifyAll();
  }
  void OnLost(const absl::Status&) override {}

 private:
  Mutex mutex_;
  CondVar changed_;
  std::string leader_ ABSL_GUARDED_BY(mutex_);
  int64_t fence_ ABSL_GUARDED_BY(mutex_) = 0;
};

void RunAtOnce(const std::function<void()>& task) { task(); }

}  // namespace

absl::StatusOr<std::string> RestoreStore(const Settings& settings, const std::string& path, bool replace) {
  const std::optional<std::string> file = ReadFile(path);
  if (!file.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("restore: cannot read the file: ", strerror(errno), " (restore=", path, ")"));
  }
  absl::StatusOr<coordinator::Snapshot> state = DecodeState(*file);
  if (!state.ok()) {
    return absl::Status(state.status().code(),
                        absl::StrCat("restore: ", state.status().message(), " (restore=", path, ")"));
  }
  std::unique_ptr<EtcdClient> etcd;
  Campaign campaign;
  std::unique_ptr<Leadership> leadership;
  int64_t fence = 0;
  if (!settings.store.etcd.empty()) {
    ASSIGN_OR_RETURN(etcd, OpenEtcd(settings));
    leadership = std::make_unique<Leadership>(
        etcd.get(), LeadershipOptions{.prefix = settings.store.prefix, .address = "restore:0", .lease = settings.lease},
        &campaign);
    ASSIGN_OR_RETURN(fence, campaign.Await());
  }
  ASSIGN_OR_RETURN(const OpenedStore opened, OpenStore(settings, etcd.get(), fence, RunAtOnce));
  if (opened.reader == nullptr) {
    return absl::FailedPreconditionError("restore: the planner has no store (store=memory)");
  }
  const std::string cluster = state->cluster;
  const size_t teams = state->teams.size();
  const absl::Status restored = RestoreState(*std::move(state), replace, opened.store.get());
  if (leadership != nullptr) leadership->Resign();
  if (!restored.ok()) {
    return absl::Status(restored.code(),
                        absl::StrCat("restore: ", restored.message(), " (store=", settings.store_text, ")"));
  }
  return absl::StrCat("restored (cluster=", cluster, ", teams=", teams, ", store=", settings.store_text, ")");
}

absl::StatusOr<std::vector<std::string>> CheckStore(const Settings& settings) {
  std::unique_ptr<EtcdClient> etcd;
  if (!settings.store.etcd.empty()) {
    ASSIGN_OR_RETURN(etcd, OpenEtcd(settings));
  }
  ASSIGN_OR_RETURN(const OpenedStore opened, OpenStore(settings, etcd.get(), 0, RunAtOnce));
  if (opened.reader == nullptr) return std::vector<std::string>();
  ASSIGN_OR_RETURN(StateReading reading, opened.reader->ReadState());
  return std::move(reading.damaged);
}

}  // namespace copse::planner
