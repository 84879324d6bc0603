// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "cli/ctl/verbs/top_screen.h"
#include "cli/ctl/verbs/verbs.h"

namespace copse::ctl {
namespace {

using std::chrono::steady_clock;

constexpr char kSeconds[] = "seconds";
constexpr char kOnce[] = "once";
constexpr double kSecondsDefault = 2, kSecondsMax = 3600;

absl::StatusOr<ClusterSample> AskSample(AdminClient* client) {
  ClusterSample sample;
  ASSIGN_OR_RETURN(sample.planner, client->Call(PlannerAdmin::GetPlannerStatus, {}));
  ASSIGN_OR_RETURN(sample.nodes, client->CallForRows(PlannerAdmin::StreamNodes, PlannerAdmin::ListNodes, {}));
  ASSIGN_OR_RETURN(sample.teams, client->CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, {}));
  const double patience_s = absl::ToDoubleSeconds(client->TimeForOthers()) / 2;
  v1::ListCollectivesRequest calls;
  calls.set_timeout_s(patience_s);
  ASSIGN_OR_RETURN(sample.calls,
                   client->CallForRows(PlannerAdmin::StreamCollectives, PlannerAdmin::ListCollectives, calls));
  v1::GetStatsRequest stats;
  stats.set_timeout_s(patience_s);
  ASSIGN_OR_RETURN(sample.stats, client->CallForRows(PlannerAdmin::StreamStats, PlannerAdmin::GetStats, stats));
  return sample;
}

// Shows what happens in each interval, on a terminal until it is stopped.
absl::Status Top(const Arguments& arguments, VerbContext& context) {
  double seconds = kSecondsDefault;
  if (arguments.Has(kSeconds)) {
    ASSIGN_OR_RETURN(seconds, ParseSeconds(kSeconds, arguments.Text(kSeconds), kSecondsMax));
  }
  const bool once = arguments.Has(kOnce) || !context.terminal || context.wants_json();
  steady_clock::time_point asked = steady_clock::now();
  ASSIGN_OR_RETURN(ClusterSample before, AskSample(context.client));
  while (true) {
    std::this_thread::sleep_for(absl::ToChronoNanoseconds(absl::Seconds(seconds)));
    const auto now = steady_clock::now();
    context.client->Extend(absl::FromChrono(now - asked));
    ASSIGN_OR_RETURN(ClusterSample after, AskSample(context.client));
    const std::string screen = RenderTop(before, after, absl::FromChrono(now - asked), {}, context.style);
    if (once) return context.Answer(screen);
    if (!context.print(absl::StrCat(kClearScreen, screen))) return absl::OkStatus();
    asked = now;
    before = std::move(after);
  }
}

}  // namespace

std::vector<Verb> TopVerbs() {
  return {{.name = "top",
           .help = "the cluster on one screen: nodes, teams, calls in flight and who is missing, the busiest nodes",
           .options = {{kSeconds, "S", "from one screen to the next; default 2"},
                       {kOnce, "", "one screen, as where the output is no terminal"}},
           .run = Top}};
}

}  // namespace copse::ctl
