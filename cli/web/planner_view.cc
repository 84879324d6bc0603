// SPDX-License-Identifier: Apache-2.0
#include "cli/web/planner_view.h"

#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/web/cluster_json.h"
#include "cli/web/history.h"

namespace copse::web {
namespace {

using ctl::Json;

// Each so many answers the details are asked for anew.
constexpr int kAnswersPerDetails = 5;

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Returns the object, or what is wrong.
Json OrError(absl::StatusOr<Json> json) {
  if (json.ok()) return *std::move(json);
  return {{"error", std::string(json.status().message())}};
}

struct WantedTeam {
  absl::Time wanted;
  std::string text = "{}";
};

class PollingView final : public PlannerView {
 public:
  PollingView(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause)
      : client_(std::move(client)), pause_(pause), thread_([this] { Run(); }) {}
  ~PollingView() override {
    {
      const MutexLock lock(&mutex_);
      ends_ = true;
    }
    changed_.NotifyAll();
    thread_.join();
  }

  std::shared_ptr<const Figures> figures() const override {
    const MutexLock lock(&mutex_);
    while (figures_ == nullptr) changed_.Wait(&mutex_);
    return figures_;
  }

  std::string Cluster() override {
    const MutexLock lock(&mutex_);
    cluster_wanted_ = absl::Now();
    return cluster_;
  }

  absl::StatusOr<std::string> Team(uint64_t id) override {
    const MutexLock lock(&mutex_);
    if (teams_.count(id) == 0 && teams_.size() >= kTeamsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("too many teams are looked at (teams=", teams_.size(), ", limit=", kTeamsMax, ")"));
    }
    WantedTeam& team = teams_[id];
    team.wanted = absl::Now();
    return team.text;
  }

  std::string LastHour() override {
    const MutexLock lock(&mutex_);
    return last_hour_;
  }

 private:
  void Run() {
    do {
      auto figures = std::make_shared<Figures>();
      figures->status = AskFigures(figures.get());
      if (!figures->status.ok()) *figures = {.status = figures->status, .planner = {}, .stats = {}};
      history_.Add(absl::Now(), ctl::Sorted(figures->stats.counters()));
      const std::string cluster = ClusterText(*figures);
      Publish(std::move(figures), cluster);
      AskTeams();
    } while (Pause());
  }

  absl::Status AskFigures(Figures* figures) {
    client_->Renew();
    ASSIGN_OR_RETURN(figures->planner, client_->Call(&ctl::PlannerAdmin::GetPlannerStatus, {}));
    ASSIGN_OR_RETURN(figures->stats, client_->Call(&ctl::PlannerAdmin::GetPlannerStats, {}));
    return absl::OkStatus();
  }

  std::string ClusterText(const Figures& figures) {
    Json cluster = {{"error", std::string(figures.status.message())}};
    if (figures.status.ok()) {
      cluster["planner"] = ctl::ToJson(figures.planner);
      cluster["counters"] = ctl::Sorted(figures.stats.counters());
      if (IsClusterWanted()) AskCluster(&cluster);
    }
    return Text(cluster);
  }

  void AskCluster(Json* cluster) {
    if (answers_++ % kAnswersPerDetails == 0) details_ = OrError(AskDetails(client_.get()));
    cluster->update(details_);
    cluster->update(OrError(AskLists(client_.get())));
  }

  void AskTeams() {
    std::vector<uint64_t> wanted;
    {
      const MutexLock lock(&mutex_);
      const absl::Time oldest = absl::Now() - kInterest;
      std::erase_if(teams_, [oldest](const auto& team) { return team.second.wanted < oldest; });
      for (const auto& [id, team] : teams_) wanted.push_back(id);
    }
    for (const uint64_t id : wanted) {
      std::string text = Text(OrError(AskTeam(client_.get(), id)));
      const MutexLock lock(&mutex_);
      teams_[id].text = std::move(text);
    }
  }

  bool IsClusterWanted() {
    const MutexLock lock(&mutex_);
    return absl::Now() < cluster_wanted_ + kInterest;
  }

  void Publish(std::shared_ptr<const Figures> figures, const std::string& cluster) {
    const MutexLock lock(&mutex_);
    const bool was_ok = figures_ == nullptr || figures_->status.ok();
    if (was_ok && !figures->status.ok()) {
      COPSE_LOG(kWarning, "the planner does not answer: ", figures->status.message());
    }
    figures_ = std::move(figures);
    cluster_ = cluster;
    last_hour_ = Text(history_.ToJson());
    changed_.NotifyAll();
  }

  // Returns whether the view goes on.
  bool Pause() {
    const MutexLock lock(&mutex_);
    const absl::Time until = absl::Now() + pause_;
    while (!ends_ && absl::Now() < until) changed_.WaitFor(&mutex_, until - absl::Now());
    return !ends_;
  }

  // The thread alone uses these.
  const std::unique_ptr<ctl::AdminClient> client_;
  History history_;
  Json details_ = Json::object();
  int answers_ = 0;

  const absl::Duration pause_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<const Figures> figures_ ABSL_GUARDED_BY(mutex_);
  std::string cluster_ ABSL_GUARDED_BY(mutex_) = "{}";
  std::string last_hour_ ABSL_GUARDED_BY(mutex_) = "{}";
  absl::Time cluster_wanted_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::map<uint64_t, WantedTeam> teams_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<PlannerView> PlannerView::Start(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause) {
  return std::make_unique<PollingView>(std::move(client), pause);
}

}  // namespace copse::web
