// SPDX-License-Identifier: Apache-2.0
#include "cli/web/planner_view.h"

#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace copse::web {
namespace {

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

 private:
  void Run() {
    bool ends = false;
    while (!ends) {
      client_->Renew();
      auto figures = std::make_shared<Figures>();
      figures->status = AskFigures(figures.get());
      if (!figures->status.ok()) *figures = {.status = figures->status, .planner = {}, .stats = {}};
      ends = Publish(std::move(figures));
    }
  }

  absl::Status AskFigures(Figures* figures) {
    ASSIGN_OR_RETURN(figures->planner, client_->Call(&ctl::PlannerAdmin::GetPlannerStatus, {}));
    ASSIGN_OR_RETURN(figures->stats, client_->Call(&ctl::PlannerAdmin::GetPlannerStats, {}));
    return absl::OkStatus();
  }

  // Makes the answer the newest, and pauses. Returns whether the view ends.
  bool Publish(std::shared_ptr<const Figures> figures) {
    const MutexLock lock(&mutex_);
    const bool was_ok = figures_ == nullptr || figures_->status.ok();
    if (was_ok && !figures->status.ok()) {
      COPSE_LOG(kWarning, "the planner does not answer: ", figures->status.message());
    }
    figures_ = std::move(figures);
    changed_.NotifyAll();
    const absl::Time until = absl::Now() + pause_;
    while (!ends_ && absl::Now() < until) changed_.WaitFor(&mutex_, until - absl::Now());
    return ends_;
  }

  const std::unique_ptr<ctl::AdminClient> client_;  // of the thread alone
  const absl::Duration pause_;
  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::shared_ptr<const Figures> figures_ ABSL_GUARDED_BY(mutex_);
  bool ends_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace

std::unique_ptr<PlannerView> PlannerView::Start(std::unique_ptr<ctl::AdminClient> client, absl::Duration pause) {
  return std::make_unique<PollingView>(std::move(client), pause);
}

}  // namespace copse::web
