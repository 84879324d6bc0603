// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/hostlist.h"
#include "base/status_macros.h"
#include "cli/client/message_json.h"
#include "cli/command_line/table.h"
#include "cli/ctl/verbs/accounts.h"
#include "cli/ctl/verbs/selection.h"
#include "cli/ctl/verbs/verbs.h"

namespace copse::ctl {
namespace {

// Asks the daemons for the accounts of jobs; `nodes`: a host list; empty: all.
absl::StatusOr<v1::GetStatsReply> AskAccounts(const std::string& nodes, VerbContext& context) {
  v1::GetStatsRequest request;
  if (!nodes.empty()) request.mutable_selector()->set_nodes(nodes);
  request.set_accounts(true);
  request.set_timeout_s(absl::ToDoubleSeconds(context.client->TimeForOthers()));
  ASSIGN_OR_RETURN(v1::GetStatsReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamStats, PlannerAdmin::GetStats, request));
  if (reply.silent_size() > 0) {
    const std::string silent = CompressHostlist(std::vector<std::string>(reply.silent().begin(), reply.silent().end()));
    context.notes.push_back(absl::StrCat("no answer from some daemons (nodes=", silent, ")"));
  }
  return reply;
}

// Job holds the teams of one job: those whose user is the same, and whose processes claim to be of the same job.
struct Job {
  uint32_t uid = 0;
  std::string claimed;
  std::vector<const v1::TeamRow*> teams;
  std::vector<AccountSum> accounts;  // of the user's jobs with processes that claim to be of this one

  // Returns the job by the control groups of its processes; if no daemon has said, as they claim.
  std::string Name() const {
    std::vector<std::string> names;
    for (const AccountSum& account : accounts) names.push_back(account.job);
    return names.empty() ? claimed : absl::StrJoin(names, ",");
  }
};

std::vector<Job> JobsOf(const v1::ListTeamsReply& reply, const v1::GetStatsReply& stats) {
  std::map<std::pair<uint32_t, std::string>, Job> jobs;
  for (const v1::TeamRow& team : reply.teams()) {
    Job& job = jobs[{team.uid(), team.job()}];
    job.uid = team.uid();
    job.claimed = team.job();
    job.teams.push_back(&team);
  }
  std::vector<Job> list;
  for (auto& [key, job] : jobs) {
    job.accounts = SumAccounts(stats, [&job = job](const v1::AccountRow& row) {
      return row.uid() == job.uid && std::count(row.claimed().begin(), row.claimed().end(), job.claimed) > 0;
    });
    list.push_back(std::move(job));
  }
  return list;
}

std::vector<std::string> NodesOf(const Job& job) {
  std::set<std::string> nodes;
  for (const v1::TeamRow* team : job.teams) {
    for (const v1::TeamMember& member : team->members()) nodes.insert(member.node());
  }
  return {nodes.begin(), nodes.end()};
}

Json JobJson(const Job& job) {
  Json teams = Json::array();
  for (const v1::TeamRow* team : job.teams) teams.push_back(team->id());
  Json json = {{"user", UserName(job.uid)}, {"uid", job.uid},        {"job", job.Name()},
               {"claimed", job.claimed},    {"nodes", NodesOf(job)}, {"teams", std::move(teams)}};
  uint64_t reserved = 0;
  for (const AccountSum& account : job.accounts) reserved += account.UsedOf("memory");
  json["bytes_reserved"] = reserved;
  json["limits"] = job.accounts.empty() ? Json::object() : LimitsJson(job.accounts[0].limits);
  return json;
}

absl::Status ListJobs(const Arguments& arguments, VerbContext& context) {
  v1::ListTeamsRequest request;
  RETURN_IF_ERROR(ReadSelection(arguments, &request));
  ASSIGN_OR_RETURN(const v1::ListTeamsReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats, AskAccounts("", context));
  Json json = Json::array();
  cli::TableRows rows = {{"USER", "JOB", "CLAIMED", "TEAMS>", "CALLS>", "NODES"}};
  for (const Job& job : JobsOf(reply, stats)) {
    json.push_back(JobJson(job));
    uint32_t calls = 0;
    for (const v1::TeamRow* team : job.teams) calls += team->calls();
    const std::vector<std::string> nodes = NodesOf(job);
    rows.push_back({UserName(job.uid), job.Name().empty() ? "-" : job.Name(), job.claimed.empty() ? "-" : job.claimed,
                    absl::StrCat(job.teams.size()), absl::StrCat(calls),
                    nodes.empty() ? "-" : CompressHostlist(nodes)});
  }
  return context.Answer(json, cli::RenderTable(std::move(rows), context.style.width));
}

// Returns the only job of this name, by control group or claimed.
absl::StatusOr<Job> FindJob(const std::string& name, const std::vector<Job>& jobs) {
  std::vector<const Job*> found;
  for (const Job& job : jobs) {
    if (job.claimed == name || job.Name() == name) found.push_back(&job);
  }
  if (found.empty()) return absl::NotFoundError(absl::StrCat("no team is of this job (job=", name, ")"));
  if (found.size() == 1) return *found[0];
  return absl::FailedPreconditionError(
      absl::StrCat("several jobs have this name: give --user, or what its processes claim (job=", name,
                   ", jobs=", found.size(), ")"));
}

// Adds the teams that have ended. Planners that remember none answer with those that they have.
absl::Status AddEnded(v1::ListTeamsRequest request, AdminClient& client, v1::ListTeamsReply* reply) {
  request.set_ended(true);
  ASSIGN_OR_RETURN(const v1::ListTeamsReply ended,
                   client.CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  for (const v1::TeamRow& team : ended.teams()) {
    if (team.has_ended()) *reply->add_teams() = team;
  }
  return absl::OkStatus();
}

absl::Status ShowJob(const Arguments& arguments, VerbContext& context) {
  v1::ListTeamsRequest request;
  if (arguments.Has("user")) {
    RETURN_IF_ERROR(ReadSelector({{{"user", arguments.values.at("user")}}}, request.mutable_selector()));
  }
  ASSIGN_OR_RETURN(v1::ListTeamsReply reply,
                   context.client->CallForRows(PlannerAdmin::StreamTeams, PlannerAdmin::ListTeams, request));
  RETURN_IF_ERROR(AddEnded(request, *context.client, &reply));
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats, AskAccounts("", context));
  ASSIGN_OR_RETURN(const Job job, FindJob(arguments.Text("job"), JobsOf(reply, stats)));
  v1::ListTeamsReply teams;
  for (const v1::TeamRow* team : job.teams) *teams.add_teams() = *team;
  Json json = JobJson(job);
  json["teams"] = ToJson(teams.teams());
  const std::string details = cli::RenderDetails({{"user", UserName(job.uid)},
                                                  {"job", job.Name()},
                                                  {"claimed", job.claimed},
                                                  {"nodes", CompressHostlist(NodesOf(job))}},
                                                 context.style.width);
  return context.Answer(json, absl::StrCat(details, "\n", RenderTeams(teams, context.style)));
}

absl::Status Quota(const Arguments& arguments, VerbContext& context) {
  v1::RowSelector selector;
  RETURN_IF_ERROR(ReadSelector(arguments, &selector));
  ASSIGN_OR_RETURN(const v1::GetStatsReply stats, AskAccounts(selector.nodes(), context));
  const std::vector<AccountSum> accounts = SumAccounts(stats, [&selector](const v1::AccountRow& row) {
    return (!selector.has_uid() || row.uid() == selector.uid()) &&
           (selector.job().empty() || row.job() == selector.job());
  });
  return context.Answer(RenderAccounts(accounts, context.style));
}

}  // namespace

std::vector<Verb> JobVerbs() {
  return {{.family = "job",
           .name = "list",
           .help = "jobs that have teams",
           .options = WithSelection({}, /*owner=*/true, ""),
           .run = ListJobs},
          {.family = "job",
           .name = "show",
           .help = "one job, and its teams, those that have ended too",
           .positionals = {{.name = "job", .help = "the job, as `job list` shows it, or as its processes claim"}},
           .options = {{"user", "USER", "of the users who have a job of this name, the one that is meant"}},
           .run = ShowJob},
          {.name = "quota",
           .help = "what users' jobs hold at the nodes, and the users' limits",
           .options = {{"node", "LIST", "only at these nodes, a host list: n[1-64],login"},
                       {"user", "NAME", "only of this user: a name or an id"},
                       {"job", "JOB", "only of this job, as `quota` shows it"}},
           .run = Quota}};
}

}  // namespace copse::ctl
