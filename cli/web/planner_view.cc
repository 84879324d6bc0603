// SPDX-License-Identifier: Apache-2.0
#include "cli/web/planner_view.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/web/cluster_json.h"
#include "cli/web/history.h"
#include "cli/web/page_parts.h"

namespace copse::web {
namespace {

using ctl::Json;

// How often the planner is asked: the time of an answer grows with the nodes, and that of one for which it asks all
// daemons is some 0.2 ms for each.
constexpr absl::Duration kPerNode = absl::Microseconds(200);
constexpr absl::Duration kPerDaemon = absl::Milliseconds(10);
constexpr absl::Duration kPerMember = absl::Milliseconds(10);
constexpr absl::Duration kPerTeamLookedAt = absl::Milliseconds(250);
constexpr absl::Duration kDetailsPause = absl::Seconds(5);
// Lists are asked for when an event or a counter says that something has changed, and anyway when they are so old.
constexpr absl::Duration kListsAge = absl::Seconds(30);
// Counters that change when nodes or teams do.
constexpr const char* kCountersOfLists[] = {"nodes.", "teams.", "formations.f"};

std::string Text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A Due says when something is to be asked for anew: once its basis has changed, but not within the pause; and without
// a change when it has reached its age.
class Due {
 public:
  explicit Due(absl::Duration age) : age_(age) {}

  bool Is(absl::Duration pause, const std::string& basis) const {
    const absl::Duration passed = absl::Now() - answered_;
    return passed >= std::max(age_, pause) || (passed >= pause && basis != basis_);
  }
  void NoteAnswer(const std::string& basis) {
    answered_ = absl::Now();
    basis_ = basis;
  }

 private:
  absl::Duration age_;
  absl::Time answered_ = absl::InfinitePast();
  std::string basis_;
};

// What the lists of a cluster are asked for by.
struct Dues {
  Due nodes{kListsAge}, teams{kListsAge}, topology{kDetailsPause}, details{kDetailsPause};
};

struct WantedTeam {
  absl::Time wanted;
  std::string text = "{}";
  // The thread alone uses these.
  Due team{absl::ZeroDuration()}, plans{kListsAge};
  size_t members = 0;
  Json plans_json = Json::array();
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

  std::string Cluster(uint64_t after) override {
    const MutexLock lock(&mutex_);
    if (!IsClusterWantedLocked()) {
      hurries_ = true;
      changed_.NotifyAll();
    }
    cluster_wanted_ = absl::Now();
    return parts_.After(after);
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
      Publish(figures);
      if (figures->status.ok() && IsClusterWanted()) {
        AskCluster(*figures);
      } else {
        ForgetCluster();
      }
      AskTeamsLookedAt();
    } while (Pause());
  }

  absl::Status AskFigures(Figures* figures) {
    client_->Renew();
    ASSIGN_OR_RETURN(figures->planner, client_->Call(ctl::PlannerAdmin::GetPlannerStatus, {}));
    ASSIGN_OR_RETURN(figures->stats, client_->Call(ctl::PlannerAdmin::GetPlannerStats, {}));
    return absl::OkStatus();
  }

  // Asks for lists that are due, the first ones that a viewer looks at first.
  void AskCluster(const Figures& figures) {
    const absl::Status status = AskLists(figures);
    SetPart("error", Json(std::string(status.message())));
  }

  absl::Status AskLists(const Figures& figures) {
    ASSIGN_OR_RETURN(const Json events, AskEvents(client_.get()));
    SetPart("events", events);
    basis_ = events.empty() ? "" : Text(events.back());
    for (const auto& [name, value] : ctl::Sorted(figures.stats.counters())) {
      for (const char* prefix : kCountersOfLists) {
        if (absl::StartsWith(name, prefix)) absl::StrAppend(&basis_, " ", value);
      }
    }
    if (dues_.nodes.Is(nodes_ * kPerNode, basis_)) {
      ASSIGN_OR_RETURN(const NodeLists lists, AskNodes(client_.get()));
      nodes_ = lists.nodes.size();
      SetPart("nodes", lists.nodes);
      SetPart("quiet", lists.quiet);
      dues_.nodes.NoteAnswer(basis_);
    }
    if (dues_.topology.Is(nodes_ * kPerDaemon, "")) {
      ASSIGN_OR_RETURN(const Json topology, AskTopology(client_.get()));
      SetPart("topology", topology);
      dues_.topology.NoteAnswer("");
    }
    if (dues_.teams.Is(nodes_ * kPerNode, basis_)) {
      ASSIGN_OR_RETURN(const Json teams, AskTeams(client_.get()));
      SetPart("teams", teams);
      dues_.teams.NoteAnswer(basis_);
    }
    if (!dues_.details.Is(nodes_ * kPerDaemon, "")) return absl::OkStatus();
    dues_.details.NoteAnswer("");
    // The planner logs each refusal.
    if (may_see_audit_) {
      ASSIGN_OR_RETURN(const Json audit, AskAudit(client_.get()));
      may_see_audit_ = !audit.is_null();
      SetPart("audit", audit);
    }
    ASSIGN_OR_RETURN(const DaemonStats stats, AskStats(client_.get()));
    SetPart("latency", stats.latency);
    SetPart("stats", stats.stats);
    Json calls = Json::array();
    if (stats.stats["totals"].value("calls.in_flight", 0) > 0) {
      ASSIGN_OR_RETURN(calls, AskCalls(client_.get()));
    }
    SetPart("calls", calls);
    dues_.details.NoteAnswer("");
    return absl::OkStatus();
  }

  void SetPart(const std::string& name, const Json& json) {
    std::string text = Text(json);
    const MutexLock lock(&mutex_);
    parts_.Set(name, std::move(text));
  }

  // A viewer who comes after a while sees nothing old.
  void ForgetCluster() {
    dues_ = {};
    may_see_audit_ = true;
    const MutexLock lock(&mutex_);
    if (IsClusterWantedLocked() && figures_->status.ok()) return;
    parts_.Clear();
    SetFigureParts();
  }

  void AskTeamsLookedAt() {
    std::vector<uint64_t> wanted;
    {
      const MutexLock lock(&mutex_);
      const absl::Time oldest = absl::Now() - kInterest;
      std::erase_if(teams_, [oldest](const auto& team) { return team.second.wanted < oldest; });
      for (const auto& [id, team] : teams_) wanted.push_back(id);
    }
    for (const uint64_t id : wanted) {
      WantedTeam* team = nullptr;
      {
        const MutexLock lock(&mutex_);
        team = &teams_[id];
      }
      // This thread alone removes teams.
      if (!team->team.Is(std::max(team->members * kPerMember, wanted.size() * kPerTeamLookedAt), "")) continue;
      const absl::StatusOr<Json> answer = AskTeamLookedAt(id, team);
      std::string text = Text(answer.ok() ? *answer : Json{{"error", std::string(answer.status().message())}});
      const MutexLock lock(&mutex_);
      team->text = std::move(text);
    }
  }

  absl::StatusOr<Json> AskTeamLookedAt(uint64_t id, WantedTeam* team) {
    ASSIGN_OR_RETURN(const Json row, AskTeam(client_.get(), id));
    team->members = row["members"].size();
    team->team.NoteAnswer("");
    if (team->plans.Is(nodes_ * kPerNode, basis_)) {
      ASSIGN_OR_RETURN(team->plans_json, AskPlans(client_.get(), id));
      team->plans.NoteAnswer(basis_);
    }
    return Json{{"team", row}, {"plans", team->plans_json}};
  }

  bool IsClusterWanted() {
    const MutexLock lock(&mutex_);
    hurries_ = false;
    return IsClusterWantedLocked();
  }
  bool IsClusterWantedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return absl::Now() < cluster_wanted_ + kInterest;
  }

  void Publish(std::shared_ptr<const Figures> figures) {
    const MutexLock lock(&mutex_);
    const bool was_ok = figures_ == nullptr || figures_->status.ok();
    if (was_ok && !figures->status.ok()) {
      COPSE_LOG(kWarning, "the planner does not answer: ", figures->status.message());
    }
    figures_ = std::move(figures);
    SetFigureParts();
    last_hour_ = Text(history_.ToJson());
    changed_.NotifyAll();
  }

  void SetFigureParts() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!figures_->status.ok()) {
      parts_.Set("error", Text(Json(std::string(figures_->status.message()))));
      return;
    }
    if (!IsClusterWantedLocked()) parts_.Set("error", "\"\"");
    parts_.Set("planner", Text(ctl::ToJson(figures_->planner)));
    parts_.Set("counters", Text(Json(ctl::Sorted(figures_->stats.counters()))));
  }

  // Returns whether the view goes on.
  bool Pause() {
    const MutexLock lock(&mutex_);
    const absl::Time until = absl::Now() + pause_;
    while (!ends_ && !hurries_ && absl::Now() < until) changed_.WaitFor(&mutex_, until - absl::Now());
    return !ends_;
  }

  // The thread alone uses these.
  const std::unique_ptr<ctl::AdminClient> client_;
  History history_;
  Dues dues_;
  size_t nodes_ = 0;  // of the last list
  bool may_see_audit_ = true;
  std::string basis_;  // the last event, and counters that change with nodes and teams

  const absl::Duration pause_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<const Figures> figures_ ABSL_GUARDED_BY(mutex_);
  PageParts parts_ ABSL_GUARDED_BY(mutex_);
  std::string last_hour_ ABSL_GUARDED_BY(mutex_) = "{}";
  absl::Time cluster_wanted_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
  std::map<uint64_t, WantedTeam> teams_ ABSL_GUARDED_BY(mutex_);
  bool hurries_ ABSL_GUARDED_BY(mutex_) = false;  // somebody looks who sees nothing yet
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<PlannerView> PlannerView::Start(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause) {
  return std::make_unique<PollingView>(std::move(client), pause);
}

}  // namespace copse::web
