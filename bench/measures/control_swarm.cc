// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/histogram.h"
#include "base/status_macros.h"
#include "bench/benchmarks.h"
#include "bench/measures/line_field.h"
#include "bench/measures/process_usage.h"
#include "planner/etcd/testing/etcd_cluster.h"
#include "proto/copse/v1/admin.pb.h"
#include "testbed/netns/test_network.h"
#include "testbed/processes/admin_client.h"
#include "testbed/processes/child_process.h"
#include "testbed/processes/process_cluster.h"
#include "testbed/processes/programs.h"
#include "testbed/script/script.h"

namespace copse::bench {
namespace {

// The swarm's own time-outs are shorter; before the first one it begins all streams.
constexpr absl::Duration kPatience = absl::Seconds(200);

// The node at which the swarm is that can be cut off.
constexpr uint32_t kSwarmNode = 1;

// A planner with one real daemon on one core, and the swarm on another. A swarm that can be cut off has a network
// namespace of its own, with a real daemon beside it.
class Swarm {
 public:
  // `has_tls`: all connections over the network have mutual TLS.
  Swarm(const Options& options, bool has_tls) : options_(options), has_tls_(has_tls) {}

  absl::Status Start(uint32_t nodes, bool can_be_cut = false) {
    procs::ProcessClusterOptions with = {.parent = options_.folder};
    if (can_be_cut) {
      with.network.emplace();
    } else if (options_.store == "etcd") {
      ASSIGN_OR_RETURN(etcd_, planner::testing::EtcdCluster::Start());
      with.planner_settings["store"] = absl::StrCat("etcd://", etcd_->endpoints().front(), "/copse");
    }
    if (has_tls_) {
      with.transport = "tcp";                                                    // it has certificates
      with.copsed_settings = {{"transport", "ucx"}, {"trust_network", "true"}};  // the swarm's addresses are UCX's
    }
    cluster_ = std::make_unique<procs::ProcessCluster>(std::move(with));
    RETURN_IF_ERROR(cluster_->Start({.nodes = can_be_cut ? kSwarmNode + 1 : 1}));
    RETURN_IF_ERROR(PinPlanner());
    ASSIGN_OR_RETURN(const std::string program, procs::FindProgram("bench/control/control_swarm"));
    std::vector<std::string> command;
    if (can_be_cut) command = cluster_->network()->Enter(kSwarmNode);
    command.insert(command.end(), {program, cluster_->planner_address(), absl::StrCat(nodes)});
    if (has_tls_) command.push_back("authority=" + cluster_->CertificatesFolder());
    ASSIGN_OR_RETURN(swarm_,
                     procs::ChildProcess::Start({.arguments = command, .stdin_pipe = true, .stdout_pipe = true}));
    if (std::thread::hardware_concurrency() > 1) RETURN_IF_ERROR(PinProcess(swarm_->pid(), 1));
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Ask(const std::string& command) {
    RETURN_IF_ERROR(swarm_->Write(command + "\n"));
    return swarm_->ReadLine(kPatience);
  }
  // Runs a verb of copsectl, beside the swarm.
  absl::Status RunVerb(const std::string& verb) {
    std::vector<std::string> arguments = {procs::FindProgram("cli/ctl/copsectl").value(), "-e",
                                          cluster_->planner_address(), "--timeout", "60"};
    for (const auto word : absl::StrSplit(verb, ' ')) arguments.emplace_back(word);
    ASSIGN_OR_RETURN(const std::unique_ptr<procs::ChildProcess> program,
                     procs::ChildProcess::Start({.arguments = arguments, .log_file = "/dev/null"}));
    if (std::thread::hardware_concurrency() > 1) RETURN_IF_ERROR(PinProcess(program->pid(), 1));
    RETURN_IF_ERROR(program->AwaitEnd(kPatience));
    if (program->exit_code() == 0) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("copsectl ", verb, ": ", program->DescribeEnd()));
  }
  absl::Status RestartPlanner() {
    cluster_->KillPlanner();
    turns_.clear();
    RETURN_IF_ERROR(cluster_->RestartPlanner());
    return PinPlanner();
  }
  absl::Status SetLink(bool up) { return cluster_->SetManagementLink(kSwarmNode, up); }
  void StopPlanner() { cluster_->StopPlanner(); }
  void ContinuePlanner() { cluster_->ContinuePlanner(); }
  const procs::AdminClient& admin() const { return cluster_->admin(); }
  void Pass(absl::Duration duration) { cluster_->Pass(duration); }
  absl::StatusOr<absl::Duration> PlannerCpu() const { return CpuTime(cluster_->PlannerPid()); }
  absl::StatusOr<double> Megabytes() const { return MegabytesOf(cluster_->PlannerPid()); }

  // --- The real daemon ---
  absl::Status RestartDaemon() {
    cluster_->KillDaemon(0);
    return cluster_->RestartDaemon(0);
  }
  absl::StatusOr<double> DaemonMegabytes() const { return MegabytesOf(cluster_->DaemonPid(0)); }
  absl::StatusOr<double> DaemonCounter(const std::string& name) const {
    ASSIGN_OR_RETURN(const v1::GetStatsReply reply, admin().GetStats(cluster_->NodeName(0), kPatience));
    if (reply.stats_size() != 1) return absl::UnavailableError("the real daemon does not answer");
    const auto counter = reply.stats(0).counters().find(name);
    if (counter == reply.stats(0).counters().end()) return absl::NotFoundError(absl::StrCat("counter ", name));
    return static_cast<double>(counter->second);
  }
  // A process at the real daemon joins a team as its last rank. Returns the process.
  uint32_t Join(const std::string& team, uint32_t size) {
    return cluster_->Launch({{.node = 0,
                              .script = {{.kind = scenario::StepKind::kTeam,
                                          .name = team,
                                          .rank = size - 1,
                                          .size = size,
                                          .timeout = kPatience}}}});
  }
  absl::Status AwaitJoined(uint32_t process) {
    RETURN_IF_ERROR(cluster_->AwaitOutcomes(process, 1, kPatience));
    const scenario::Outcome outcome = cluster_->Outcomes(process)[0];
    if (outcome.failure == schedule::Failure::kNone) return absl::OkStatus();
    return absl::InternalError(absl::StrCat("the real daemon's rank: ", outcome.text));
  }

  // Returns the processor time of the planner's longest turn since the last call, or since the planner's start. It is
  // at most an eighth too high: of turns that are not the longest ever, only the histogram's bucket is known.
  absl::StatusOr<double> LongestTurnMs() {
    ASSIGN_OR_RETURN(const v1::GetPlannerStatsReply stats, admin().GetPlannerStats(kPatience));
    const v1::LatencyRow& row = stats.turns();
    uint64_t longest_ns = 0;
    for (int i = 0; i < std::min(row.bucket_size(), row.count_size()); ++i) {
      const uint32_t bucket = std::min(row.bucket(i), Histogram::kBucketCount - 1);
      if (std::exchange(turns_[bucket], row.count(i)) == row.count(i)) continue;
      longest_ns = std::max(longest_ns, std::min(Histogram::HighestOf(bucket), row.max_ns()));
    }
    return static_cast<double>(longest_ns) / 1e6;
  }

 private:
  static absl::StatusOr<double> MegabytesOf(pid_t pid) {
    ASSIGN_OR_RETURN(const Pss pss, ReadPss(pid));
    return pss.total_kb / 1024;
  }
  absl::Status PinPlanner() {
    return std::thread::hardware_concurrency() > 1 ? PinProcess(cluster_->PlannerPid(), 0) : absl::OkStatus();
  }

  const Options options_;
  const bool has_tls_;
  std::unique_ptr<planner::testing::EtcdCluster> etcd_;
  std::unique_ptr<procs::ProcessCluster> cluster_;
  std::unique_ptr<procs::ChildProcess> swarm_;
  std::map<uint32_t, uint64_t> turns_;  // by bucket, at the last LongestTurnMs
};

// A Scale is what the phases do.
struct Scale {
  uint32_t nodes = 10'000;
  uint32_t nodes_of_8 = 1000;  // that have 8 ranks of a team
  absl::Duration idle = absl::Seconds(20);
  uint32_t teams_per_s = 200;
  uint32_t teams_s = 10;
  uint32_t drained = 100;
  absl::Duration stopped = absl::Seconds(30);
  absl::Duration aftermath = absl::Seconds(15);  // streams that the stop ends have ended by then
  absl::Duration cut = absl::Seconds(40);        // longer than planner and daemons take a silent stream for one
  uint32_t kept_teams = 2'000;
  uint32_t repeats = 5;  // of each verb
};

Scale ScaleOf(bool quick) {
  if (!quick) return {};
  return {.nodes = 64,
          .nodes_of_8 = 16,
          .idle = absl::Seconds(1),
          .teams_per_s = 20,
          .teams_s = 1,
          .drained = 8,
          .stopped = absl::Seconds(1),
          .aftermath = absl::ZeroDuration(),
          .cut = absl::Seconds(1),
          .kept_teams = 8,
          .repeats = 1};
}

constexpr char kTls[] = ", TLS";

// What the rows are called; those with TLS end in `with`, which is kTls, others' is empty.
struct Cases {
  Cases(const Scale& scale, const std::string& with)
      : connect("all daemons connect" + with),
        idle("all daemons idle" + with),
        stats("stats of all daemons" + with),
        teams(absl::StrCat(scale.teams_per_s, " teams of 8 a second", with)),
        drain(absl::StrCat(scale.drained, " nodes are drained", with)),
        ranks(absl::StrCat("a team of ", scale.nodes_of_8, " nodes x 8 ranks forms", with)),
        world("a team of all forms" + with),
        stop(absl::StrCat("planner stopped for ", absl::ToInt64Seconds(scale.stopped), " s, with a team of all", with)),
        cut(absl::StrCat("planner cut off for ", absl::ToInt64Seconds(scale.cut), " s, with a team of all", with)),
        kill("all return to a killed planner with a team of all" + with),
        member("a real daemon in a team of all" + with) {}

  const std::string connect, idle, stats, teams, drain, ranks, world, stop, cut, kill, member;
  // Without TLS alone: copsectl does not use it.
  const std::string verbs = "copsectl's lists, teams of 8";
  static std::string Verb(const std::string& verb) { return absl::StrCat("copsectl ", verb, ", teams of 8"); }
};

constexpr const char* kVerbs[] = {"node list", "team list", "plan list", "coll list", "stats"};

// Figures have a value of each run, by case and metric.
using Figures = std::map<std::pair<std::string, std::string>, std::vector<double>>;

// A SwarmRun is one run of all phases, which follow each other in the order of declaration.
class SwarmRun {
 public:
  SwarmRun(const Options& options, const Scale& scale, const std::string& with, Figures* figures)
      : scale_(scale), cases_(scale, with), figures_(figures), swarm_(options, with == kTls) {}

  absl::Status Run() {
    RETURN_IF_ERROR(swarm_.Start(scale_.nodes));
    RETURN_IF_ERROR(Phase(cases_.connect, [this] { return Connect(); }));
    RETURN_IF_ERROR(Phase(cases_.idle, [this] { return Idle(); }));
    RETURN_IF_ERROR(Phase(cases_.stats, [this] { return Stats(); }));
    RETURN_IF_ERROR(Phase(cases_.teams, [this] { return Teams(); }));
    RETURN_IF_ERROR(Phase(cases_.drain, [this] { return Drain(); }));
    RETURN_IF_ERROR(
        Phase(cases_.ranks, [this] { return Team(cases_.ranks, absl::StrCat("ranks ", scale_.nodes_of_8, " 60")); }));
    RETURN_IF_ERROR(Phase(cases_.world, [this] { return Team(cases_.world, "world 60"); }));
    RETURN_IF_ERROR(Phase(cases_.stop, [this] { return Stop(); }));
    RETURN_IF_ERROR(Phase(cases_.kill, [this] { return Kill(); }));
    return Phase(cases_.member, [this] { return Member(); });
  }

  // Runs what a cut between the planner and the swarm costs.
  absl::Status RunCut() {
    RETURN_IF_ERROR(swarm_.Start(scale_.nodes, /*can_be_cut=*/true));
    RETURN_IF_ERROR(AskAll("connect 120"));
    RETURN_IF_ERROR(Ask("world 60"));
    ASSIGN_OR_RETURN(const double is_formed, Field("formed"));
    if (is_formed == 0) return absl::DeadlineExceededError(absl::StrCat("a team of all was not formed: ", line_));
    RETURN_IF_ERROR(swarm_.LongestTurnMs().status());
    return Phase(cases_.cut, [this] { return Cut(); });
  }

  // Runs what verbs cost, with many teams that stay.
  absl::Status RunVerbs() {
    RETURN_IF_ERROR(swarm_.Start(scale_.nodes));
    RETURN_IF_ERROR(AskAll("connect 120"));
    RETURN_IF_ERROR(Ask(absl::StrCat("keep ", scale_.kept_teams, " 60")));
    ASSIGN_OR_RETURN(const double kept, Field("kept"));
    if (kept < scale_.kept_teams) return absl::DeadlineExceededError(absl::StrCat("teams were not formed: ", line_));
    swarm_.Pass(scale_.idle);  // better plans are made meanwhile
    RETURN_IF_ERROR(swarm_.LongestTurnMs().status());
    return Phase(cases_.verbs, [this] { return Verbs(); });
  }

 private:
  void Note(const std::string& what, const std::string& metric, double value) {
    (*figures_)[{what, metric}].push_back(value);
  }

  absl::Status Phase(const std::string& what, const std::function<absl::Status()>& phase) {
    RETURN_IF_ERROR(phase());
    ASSIGN_OR_RETURN(const double turn_ms, swarm_.LongestTurnMs());
    Note(what, "turn", turn_ms);
    return absl::OkStatus();
  }

  // Returns the value of `key` in the last answer of the swarm.
  absl::StatusOr<double> Field(const std::string& key) { return LineField("control_swarm", line_, key); }
  absl::Status Ask(const std::string& command) {
    ASSIGN_OR_RETURN(line_, swarm_.Ask(command));
    return absl::OkStatus();
  }
  // Asks the swarm, whose daemons must all be registered then.
  absl::Status AskAll(const std::string& command) {
    RETURN_IF_ERROR(Ask(command));
    ASSIGN_OR_RETURN(const double registered, Field("registered"));
    if (registered >= scale_.nodes) return absl::OkStatus();
    return absl::DeadlineExceededError(
        absl::StrCat("not all daemons registered (command=", command, ", nodes=", scale_.nodes, "): ", line_));
  }

  absl::Status Connect() {
    RETURN_IF_ERROR(AskAll("connect 120"));
    ASSIGN_OR_RETURN(const double seconds, Field("seconds"));
    Note(cases_.connect, "time", seconds);
    ASSIGN_OR_RETURN(const double ended, Field("ended"));
    Note(cases_.connect, "false losses", ended);
    return absl::OkStatus();
  }

  absl::Status Idle() {
    ASSIGN_OR_RETURN(const absl::Duration before, swarm_.PlannerCpu());
    swarm_.Pass(scale_.idle);
    ASSIGN_OR_RETURN(const absl::Duration after, swarm_.PlannerCpu());
    Note(cases_.idle, "cpu", 100 * absl::FDivDuration(after - before, scale_.idle));
    ASSIGN_OR_RETURN(const double idle_mb, swarm_.Megabytes());
    Note(cases_.idle, "memory", idle_mb);
    return absl::OkStatus();
  }

  // Notes the time that `requests` take, and the planner's processor time.
  absl::Status Timed(const std::string& what, const std::function<absl::Status()>& requests) {
    ASSIGN_OR_RETURN(const absl::Duration before, swarm_.PlannerCpu());
    const absl::Time begun = absl::Now();
    RETURN_IF_ERROR(requests());
    Note(what, "time", absl::ToDoubleSeconds(absl::Now() - begun));
    ASSIGN_OR_RETURN(const absl::Duration after, swarm_.PlannerCpu());
    Note(what, "cpu", absl::ToDoubleSeconds(after - before));
    return absl::OkStatus();
  }

  absl::Status Stats() {
    return Timed(cases_.stats, [this]() -> absl::Status {
      ASSIGN_OR_RETURN(const v1::GetStatsReply reply, swarm_.admin().GetStats("", kPatience));
      if (reply.silent_size() == 0) return absl::OkStatus();
      return absl::DeadlineExceededError(absl::StrCat("daemons are silent (silent=", reply.silent_size(), ")"));
    });
  }

  absl::Status Teams() {
    RETURN_IF_ERROR(Ask(absl::StrCat("teams ", scale_.teams_per_s, " ", scale_.teams_s)));
    ASSIGN_OR_RETURN(const double p99_ms, Field("p99_ms"));
    ASSIGN_OR_RETURN(const double begun, Field("begun"));
    ASSIGN_OR_RETURN(const double formed, Field("formed"));
    Note(cases_.teams, "p99", p99_ms);
    Note(cases_.teams, "failed", begun - formed);
    return absl::OkStatus();
  }

  // Drains nodes one by one, like an administrator's script, and lets them take teams again.
  absl::Status Drain() {
    const auto all = [this](bool off) -> absl::Status {
      for (uint32_t node = 0; node < scale_.drained; ++node) {
        RETURN_IF_ERROR(swarm_.admin().DrainNode(absl::StrFormat("node%06d", node), off, kPatience));
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(Timed(cases_.drain, [&all] { return all(false); }));
    return all(true);
  }

  // The swarm forms a large team.
  absl::Status Team(const std::string& what, const std::string& command) {
    ASSIGN_OR_RETURN(const double before_mb, swarm_.Megabytes());
    RETURN_IF_ERROR(Ask(command));
    ASSIGN_OR_RETURN(const double is_formed, Field("formed"));
    if (is_formed == 0) return absl::DeadlineExceededError(absl::StrCat(what, ": it was not formed: ", line_));
    ASSIGN_OR_RETURN(const double seconds, Field("seconds"));
    Note(what, "time", seconds);
    ASSIGN_OR_RETURN(const double after_mb, swarm_.Megabytes());
    Note(what, "memory", after_mb - before_mb);
    return absl::OkStatus();
  }

  // Daemons give up a planner that answers nothing, and connect again.
  absl::Status Stop() {
    return Silence(
        cases_.stop, scale_.stopped,
        [this] {
          swarm_.StopPlanner();
          return absl::OkStatus();
        },
        [this] {
          swarm_.ContinuePlanner();
          return absl::OkStatus();
        });
  }

  // Both sides give up streams of which nothing arrives.
  absl::Status Cut() {
    return Silence(
        cases_.cut, scale_.cut, [this] { return swarm_.SetLink(false); }, [this] { return swarm_.SetLink(true); });
  }

  // The daemons hear nothing of the planner for `duration`.
  absl::Status Silence(const std::string& what, absl::Duration duration, const std::function<absl::Status()>& begin,
                       const std::function<absl::Status()>& end) {
    RETURN_IF_ERROR(AskAll("back 120"));
    ASSIGN_OR_RETURN(const double ended_before, Field("ended"));
    RETURN_IF_ERROR(begin());
    swarm_.Pass(duration);
    RETURN_IF_ERROR(end());
    const absl::Time ended_at = absl::Now();
    RETURN_IF_ERROR(AskAll("back 120"));
    Note(what, "time", absl::ToDoubleSeconds(absl::Now() - ended_at));
    swarm_.Pass(scale_.aftermath);
    RETURN_IF_ERROR(AskAll("back 120"));
    ASSIGN_OR_RETURN(const double ended, Field("ended"));
    ASSIGN_OR_RETURN(const double broken, Field("broken"));
    Note(what, "streams", ended - ended_before);
    Note(what, "broken", broken);
    return absl::OkStatus();
  }

  absl::Status Kill() {
    RETURN_IF_ERROR(Ask("lose"));
    const absl::Time killed = absl::Now();
    RETURN_IF_ERROR(swarm_.RestartPlanner());
    RETURN_IF_ERROR(AskAll("back 120"));
    Note(cases_.kill, "time", absl::ToDoubleSeconds(absl::Now() - killed));
    ASSIGN_OR_RETURN(const double broken, Field("broken"));
    Note(cases_.kill, "broken", broken);
    return absl::OkStatus();
  }

  // A daemon that has just started takes a team of all nodes, and no other team.
  absl::Status Member() {
    RETURN_IF_ERROR(swarm_.RestartDaemon());
    ASSIGN_OR_RETURN(const double before_mb, swarm_.DaemonMegabytes());
    ASSIGN_OR_RETURN(const double start_us, swarm_.DaemonCounter("loop.turn_max_us"));
    Note(cases_.member, "start", start_us / 1e3);
    const uint32_t process = swarm_.Join("beside", scale_.nodes + 1);
    RETURN_IF_ERROR(Ask(absl::StrCat("beside 60 ", getuid(), " scenario beside")));
    ASSIGN_OR_RETURN(const double is_formed, Field("formed"));
    if (is_formed == 0) return absl::DeadlineExceededError(absl::StrCat("no team with the real daemon: ", line_));
    RETURN_IF_ERROR(swarm_.AwaitJoined(process));
    ASSIGN_OR_RETURN(const double turn_us, swarm_.DaemonCounter("loop.turn_max_us"));
    Note(cases_.member, "daemon turn", turn_us / 1e3);
    ASSIGN_OR_RETURN(const double prepare_us, swarm_.DaemonCounter("daemon.prepare_max_us"));
    Note(cases_.member, "prepare", prepare_us / 1e3);
    ASSIGN_OR_RETURN(const double after_mb, swarm_.DaemonMegabytes());
    Note(cases_.member, "memory", after_mb - before_mb);
    return absl::OkStatus();
  }

  // Returns the processor time of the planner while `work` is done `repeats` times, beyond what it takes anyway.
  absl::StatusOr<absl::Duration> CpuOf(uint32_t repeats, double idle, const std::function<absl::Status()>& work) {
    const absl::Time begun = absl::Now();
    ASSIGN_OR_RETURN(const absl::Duration before, swarm_.PlannerCpu());
    for (uint32_t i = 0; i < repeats; ++i) RETURN_IF_ERROR(work());
    ASSIGN_OR_RETURN(const absl::Duration after, swarm_.PlannerCpu());
    return after - before - idle * (absl::Now() - begun);
  }

  absl::Status Verbs() {
    const auto pass = [this] {
      swarm_.Pass(scale_.idle);
      return absl::OkStatus();
    };
    ASSIGN_OR_RETURN(const absl::Duration idle, CpuOf(1, 0, pass));
    for (const std::string verb : kVerbs) {
      ASSIGN_OR_RETURN(const absl::Duration cpu, CpuOf(scale_.repeats, absl::FDivDuration(idle, scale_.idle),
                                                       [this, &verb] { return swarm_.RunVerb(verb); }));
      Note(Cases::Verb(verb), "cpu", absl::ToDoubleMilliseconds(cpu) / scale_.repeats);
    }
    return absl::OkStatus();
  }

  const Scale scale_;
  const Cases cases_;
  Figures* const figures_;
  Swarm swarm_;
  std::string line_;  // the swarm's last answer
};

// Makes all runs of the rows that end in `with`.
absl::Status MakeRuns(const Options& options, const Scale& scale, const std::string& with, bool can_cut,
                      Figures* figures) {
  const uint32_t runs = options.runs > 0 ? options.runs : options.quick ? 1 : 3;
  const auto swarm_run = [&] { return SwarmRun(options, scale, with, figures); };
  for (uint32_t run = 0; run < runs; ++run) {
    RETURN_IF_ERROR(swarm_run().Run());
    if (with.empty()) RETURN_IF_ERROR(swarm_run().RunVerbs());
    if (can_cut) RETURN_IF_ERROR(swarm_run().RunCut());
  }
  return absl::OkStatus();
}

absl::Status RunCases(const Options& options, const Scale& scale, const std::string& with, const Reporter& report) {
  const std::string store = options.store.empty() ? "" : absl::StrCat("; store=", options.store);
  const auto row = [&](const std::string& what, const std::string& note) {
    return Row{.bench = "control-swarm",
               .what = what,
               .system = "copse",
               .nodes = scale.nodes,
               .ppn = 1,
               .note = absl::StrCat(note, store)};
  };
  const std::string all = "a run" + with;
  if (!Wanted(options, row(all, ""))) return absl::OkStatus();
  Figures figures;
  const absl::Status can_cut = netns::CheckNamespaces(/*fabric=*/false);
  const absl::Status status = MakeRuns(options, scale, with, can_cut.ok(), &figures);
  if (!status.ok()) {
    report(Unfinished(row(all, ""), std::string(status.message())));
    return absl::OkStatus();
  }
  const Cases cases(scale, with);
  const std::string pss = "PSS";
  const std::string turn = "processor time of the planner's longest turn";
  const struct {
    std::string what, metric, unit, note;
  } columns[] = {
      {cases.connect, "time", "s", "planner on one core, all daemons' streams from one process on another"},
      {cases.connect, "false losses", "1", "streams of registered daemons that ended"},
      {cases.connect, "turn", "ms", turn},
      {cases.idle, "cpu", "%", "of a core, user and system"},
      {cases.idle, "memory", "MB", pss},
      {cases.idle, "turn", "ms", turn},
      {cases.stats, "time", "s", "counters of all, in one request"},
      {cases.stats, "cpu", "s", "the planner's"},
      {cases.stats, "turn", "ms", turn},
      {cases.teams, "p99", "ms", "from the joins to the last Commit"},
      {cases.teams, "failed", "1", "that did not form"},
      {cases.teams, "turn", "ms", turn},
      {cases.drain, "time", "s", "one request each, without teams"},
      {cases.drain, "cpu", "s", "the planner's"},
      {cases.drain, "turn", "ms", turn},
      {cases.ranks, "time", "s", "its first plans included"},
      {cases.ranks, "memory", "MB", "PSS, beyond that before"},
      {cases.ranks, "turn", "ms", turn},
      {cases.world, "time", "s", "its first plans included"},
      {cases.world, "memory", "MB", "PSS, beyond that before"},
      {cases.world, "turn", "ms", turn},
      {cases.stop, "time", "s", "from SIGCONT until all are registered"},
      {cases.stop, "streams", "1", "that ended, and began again"},
      {cases.stop, "broken", "1", "teams"},
      {cases.stop, "turn", "ms", turn},
      {cases.cut, "time", "s", "from the link's return until all are registered"},
      {cases.cut, "streams", "1", "that ended, and began again"},
      {cases.cut, "broken", "1", "teams"},
      {cases.cut, "turn", "ms", turn},
      {cases.kill, "time", "s", "from kill -9"},
      {cases.kill, "broken", "1", "teams"},
      {cases.kill, "turn", "ms", turn},
      {cases.member, "prepare", "ms", "from the arrival of the team's content to the daemon's reply"},
      {cases.member, "daemon turn", "ms", "processor time of the longest turn of the daemon's loop"},
      {cases.member, "start", "ms", "the same before the team"},
      {cases.member, "memory", "MB", "PSS, beyond that before"},
      {cases.member, "turn", "ms", turn},
      {cases.verbs, "turn", "ms", turn},
  };
  const std::string verbs = absl::StrCat(scale.kept_teams, " of them; the planner's, of each");
  for (const std::string verb : kVerbs) {
    if (!with.empty()) break;
    report(Figure(row(Cases::Verb(verb), verbs), "cpu", "ms", figures[{Cases::Verb(verb), "cpu"}]));
  }
  for (const auto& column : columns) {
    if (column.what == cases.verbs && !with.empty()) continue;
    if (column.what == cases.cut && !can_cut.ok()) {
      if (column.metric == "time") report(Unfinished(row(column.what, ""), std::string(can_cut.message())));
      continue;
    }
    report(Figure(row(column.what, column.note), column.metric, column.unit, figures[{column.what, column.metric}]));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunControlSwarm(const Options& options, const Contest&, const Reporter& report) {
  for (const std::string with : {"", kTls}) RETURN_IF_ERROR(RunCases(options, ScaleOf(options.quick), with, report));
  return absl::OkStatus();
}

}  // namespace copse::bench
