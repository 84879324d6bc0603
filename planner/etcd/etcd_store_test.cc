// SPDX-License-Identifier: Apache-2.0
#include "planner/etcd/etcd_store.h"

#include <signal.h>

#include <deque>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "base/cpu_time.h"
#include "base/mutex.h"
#include "base/prng.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "planner/etcd/operations.h"
#include "planner/etcd/testing/candidate.h"
#include "planner/etcd/testing/etcd_cluster.h"
#include "planner/store/team_record_codec.h"
#include "testbed/processes/child_process.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using coordinator::DropTeam;
using coordinator::PutAborted;
using coordinator::PutCluster;
using coordinator::PutDraining;
using coordinator::PutTeam;
using coordinator::PutTerm;
using coordinator::Snapshot;
using coordinator::StoreChange;
using coordinator::TeamRecord;
using coordinator::TopologyVersion;
using copse::testing::FailsWith;
using copse::testing::IsOk;
using testing::Candidate;
using testing::EtcdCluster;
using testing::kTimeout;

TeamRecord Record(uint64_t id, const std::string& machine = "m1") {
  TeamRecord record;
  record.layout.id = TeamId(id);
  record.layout.identity = {.uid = 1000, .job = "42", .nonce = 7, .name = "world"};
  record.layout.shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1), NodeIndex(0)}, .node_count = 2};
  record.layout.nodes = {{"n0", Incarnation(11), ""}, {"n1", Incarnation(12), ""}};
  record.layout.window = 8;
  record.epoch = EpochId(3);
  record.prepared = EpochId(4);
  record.first_call = CallSeq(1234567890123);
  record.machines = {machine, ""};
  record.plan_ids = {PlanId(5)};
  record.content = "sha256";
  record.outgoing = {{{NodeIndex(1), 0xdeadbeef}}, {{NodeIndex(0), 1}}};
  return record;
}

// Returns a record that cannot be compressed.
TeamRecord LongRecord(uint64_t id, size_t bytes, uint64_t seed) {
  Prng prng(seed);
  TeamRecord record = Record(id);
  record.content.resize(bytes);
  for (char& c : record.content) c = static_cast<char>(prng.Next());
  return record;
}

PutTeam Put(TeamRecord record) { return {std::make_shared<const TeamRecord>(std::move(record))}; }
coordinator::PutTopology Put(const TopologyVersion& version) {
  return {std::make_shared<const TopologyVersion>(version)};
}

// The tasks of the planner's thread, which is the test's.
class Tasks {
 public:
  void Post(std::function<void()> task) {
    MutexLock lock(&mutex_);
    tasks_.push_back(std::move(task));
    posted_.NotifyAll();
  }
  void RunOne() {
    std::function<void()> task;
    {
      MutexLock lock(&mutex_);
      while (tasks_.empty()) posted_.Wait(&mutex_);
      task = std::move(tasks_.front());
      tasks_.pop_front();
    }
    task();
  }

 private:
  Mutex mutex_;
  CondVar posted_;
  std::deque<std::function<void()>> tasks_ ABSL_GUARDED_BY(mutex_);
};

// A planner that leads, or will, with its store.
class Planner {
 public:
  Planner(const EtcdClientOptions& options, const std::string& prefix, const std::string& address,
          absl::Duration lease = testing::kLease)
      : candidate_(options, prefix, address, lease), prefix_(prefix) {}

  void AwaitLeadership() {
    while (candidate_.Next() != "won") {
    }
    store_ = std::make_unique<EtcdStore>(candidate_.client(), prefix_, candidate_.fence(),
                                         [this](std::function<void()> task) { tasks_.Post(std::move(task)); });
  }
  absl::Status Commit(const std::vector<StoreChange>& changes) {
    absl::Status result = absl::UnknownError("no answer");
    store_->Commit(changes, [&](const absl::Status& status) { result = status; });
    tasks_.RunOne();
    return result;
  }
  EtcdStore* store() { return store_.get(); }
  Candidate* candidate() { return &candidate_; }

 private:
  Candidate candidate_;
  const std::string prefix_;
  Tasks tasks_;
  std::unique_ptr<EtcdStore> store_;
};

class EtcdStoreTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = EtcdCluster::Start().value().release(); }
  static void TearDownTestSuite() { delete cluster_; }

  EtcdStoreTest() { Lead(); }

  void Lead() {
    planner_ = std::make_unique<Planner>(cluster_->ClientOptions(), prefix_, "a:1");
    planner_->AwaitLeadership();
  }
  // The next planner leads.
  void Succeed() {
    planner_->candidate()->leadership()->Resign();
    Lead();
  }
  Snapshot LoadAsSuccessor() {
    Succeed();
    return planner_->store()->Load().value();
  }
  absl::StatusOr<std::vector<std::string>> KeysBelow(const std::string& folder) {
    etcdserverpb::RangeRequest request;
    request.set_key(prefix_ + folder);
    request.set_range_end(EndOf(prefix_ + folder));
    const auto response = Await<etcdserverpb::RangeResponse>(
        [&](auto done) { planner_->candidate()->client()->Range(request, kTimeout, done); });
    if (!response.ok()) return response.status();
    std::vector<std::string> keys;
    for (const mvccpb::KeyValue& pair : response->kvs()) keys.push_back(pair.key().substr(prefix_.size()));
    return keys;
  }

  static EtcdCluster* cluster_;
  const std::string prefix_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<Planner> planner_;
};
EtcdCluster* EtcdStoreTest::cluster_ = nullptr;

TEST_F(EtcdStoreTest, KeepsEverything) {
  EXPECT_EQ(planner_->store()->Load()->cluster, "");
  TeamRecord broken = Record(9);
  broken.broken = true;
  broken.why = {schedule::Failure::kMemberLost, "rank 1 on node n1 lost"};
  ASSERT_THAT(planner_->Commit({Put(Record(8)), Put(Record(9)), Put(Record(10)), PutDraining{"n1", true, "disk"},
                                PutDraining{"n2", true}, PutTerm{3}, PutAborted{TeamId(77)}, PutCluster{"c1", true}}),
              IsOk());
  ASSERT_THAT(planner_->Commit({Put(broken), DropTeam{TeamId(10)}, PutDraining{"n2", false}, PutTerm{4, 2}}), IsOk());
  const Snapshot snapshot = LoadAsSuccessor();
  EXPECT_EQ(snapshot.teams, (std::map<TeamId, TeamRecord>{{TeamId(8), Record(8)}, {TeamId(9), broken}}));
  EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n1", "disk")));
  EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(77)});
  EXPECT_EQ(snapshot.term, 4u);
  EXPECT_EQ(snapshot.since, 2u);
  EXPECT_EQ(snapshot.cluster, "c1");
  EXPECT_TRUE(snapshot.cluster_is_new);
  ASSERT_THAT(planner_->Commit({PutCluster{"c1", false}}), IsOk());
  EXPECT_FALSE(LoadAsSuccessor().cluster_is_new);
  const auto reading = planner_->store()->ReadState();
  ASSERT_THAT(reading, IsOk());
  EXPECT_EQ(reading->snapshot.teams, snapshot.teams);
  EXPECT_TRUE(reading->damaged.empty());
}

TEST_F(EtcdStoreTest, OfChangesOfOneTeamTheLastIsMade) {
  ASSERT_THAT(planner_->Commit({Put(Record(1, "old")), Put(LongRecord(2, 2 << 20, 1)), PutDraining{"n", true},
                                Put(Record(1, "new")), DropTeam{TeamId(2)}, PutDraining{"n", false}}),
              IsOk());
  const Snapshot snapshot = LoadAsSuccessor();
  EXPECT_EQ(snapshot.teams, (std::map<TeamId, TeamRecord>{{TeamId(1), Record(1, "new")}}));
  EXPECT_TRUE(snapshot.draining.empty());
}

TEST_F(EtcdStoreTest, CommitsMoreThanATransactionHolds) {
  std::vector<StoreChange> changes;
  for (uint64_t id = 1; id <= 700; ++id) changes.push_back(Put(Record(id)));
  ASSERT_THAT(planner_->Commit(changes), IsOk());
  EXPECT_EQ(LoadAsSuccessor().teams.size(), 700u) << "more than a page";
}

TEST_F(EtcdStoreTest, KeepsLongRecords) {
  const TeamRecord first = LongRecord(5, 3'000'000, 1), second = LongRecord(5, 2'500'000, 2);
  ASSERT_THAT(planner_->Commit({Put(first)}), IsOk());
  EXPECT_EQ(LoadAsSuccessor().teams.at(TeamId(5)), first);
  EXPECT_EQ(KeysBelow("/team/")->size(), 4u);
  ASSERT_THAT(planner_->Commit({Put(second)}), IsOk());
  EXPECT_EQ(LoadAsSuccessor().teams.at(TeamId(5)), second);
  EXPECT_EQ(KeysBelow("/team/")->size(), 4u);
  ASSERT_THAT(planner_->Commit({Put(Record(5))}), IsOk());
  EXPECT_EQ(KeysBelow("/team/")->size(), 1u);
  ASSERT_THAT(planner_->Commit({Put(first)}), IsOk());
  ASSERT_THAT(planner_->Commit({DropTeam{TeamId(5)}}), IsOk());
  EXPECT_TRUE(KeysBelow("/team/")->empty());
}

TEST_F(EtcdStoreTest, EncodesElsewhereThanOnTheCallersThread) {
  ASSERT_THAT(planner_->store()->Load(), IsOk());
  const auto record = std::make_shared<const TeamRecord>(LongRecord(8, 8 << 20, 3));
  const absl::Duration begun = ThreadCpuTime();
  const std::string bytes = SerializeTeam(*record);
  const absl::Duration encoded = ThreadCpuTime();
  const absl::Status status = planner_->Commit({PutTeam{record}});
  EXPECT_LT(ThreadCpuTime() - encoded, (encoded - begun) / 4) << "bytes=" << bytes.size();
  EXPECT_THAT(status, IsOk());
}

TEST_F(EtcdStoreTest, DamagedValuesArePutAside) {
  const std::string damaged = absl::StrCat(prefix_, "/team/", Padded(3)), part = absl::StrCat(damaged, "/1-0/000000");
  ASSERT_THAT(planner_->Commit({Put(Record(2)), Put(Record(3))}), IsOk());
  etcdserverpb::TxnRequest request;
  *request.add_success() = PutOp(damaged, "nonsense");
  *request.add_success() = PutOp(prefix_ + "/team/x", "nonsense");
  *request.add_success() = PutOp(part, "of a writer that has ended");
  *request.add_success() = PutOp(absl::StrCat(prefix_, "/topology/", Padded(1)), "nonsense");
  ASSERT_THAT(Await<etcdserverpb::TxnResponse>(
                  [&](auto done) { planner_->candidate()->client()->Txn(request, damaged, kTimeout, done); }),
              IsOk());
  const Snapshot snapshot = LoadAsSuccessor();
  EXPECT_EQ(snapshot.teams, (std::map<TeamId, TeamRecord>{{TeamId(2), Record(2)}}));
  EXPECT_TRUE(snapshot.topologies.empty());
  EXPECT_EQ(KeysBelow("/quarantine/").value(),
            (std::vector<std::string>{absl::StrCat("/quarantine/team/", Padded(3)), "/quarantine/team/x",
                                      absl::StrCat("/quarantine/topology/", Padded(1))}));
  EXPECT_EQ(KeysBelow("/team/")->size(), 1u) << "parts of nothing are deleted";
}

TEST_F(EtcdStoreTest, DamagedKeysOfOtherKindsArePutAside) {
  ASSERT_THAT(planner_->Commit({Put(Record(3'000'007)), PutTerm{5, 1}, PutCluster{"c1", false}, PutDraining{"n1", true},
                                PutDraining{"n2", true}, PutAborted{TeamId(7)}, PutAborted{TeamId(8)}}),
              IsOk());
  etcdserverpb::TxnRequest request;
  for (const std::string name : {"term", "cluster", "draining/n1", "aborted/00000000000000000007"}) {
    *request.add_success() = PutOp(absl::StrCat(prefix_, "/", name), "x y z");
  }
  ASSERT_THAT(Await<etcdserverpb::TxnResponse>(
                  [&](auto done) { planner_->candidate()->client()->Txn(request, "", kTimeout, done); }),
              IsOk());
  EXPECT_EQ(planner_->store()->ReadState()->damaged.size(), 4u);
  const Snapshot snapshot = LoadAsSuccessor();
  EXPECT_EQ(snapshot.quarantined, 4u);
  EXPECT_EQ(snapshot.cluster, "");
  EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n2", "")));
  EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(8)});
  EXPECT_GT(snapshot.term, 1000u) << "above those of its teams";
  EXPECT_GT(snapshot.since, snapshot.term) << "nothing is sure to be recorded";
  EXPECT_EQ(KeysBelow("/quarantine/")->size(), 4u);
  EXPECT_EQ(LoadAsSuccessor().quarantined, 4u);
}

TEST_F(EtcdStoreTest, ReadsValuesOfEarlierVersions) {
  etcdserverpb::TxnRequest request;
  *request.add_success() = PutOp(prefix_ + "/term", "5 2");
  *request.add_success() = PutOp(prefix_ + "/cluster", "c1");
  *request.add_success() = PutOp(prefix_ + "/draining/n1", "");
  *request.add_success() = PutOp(prefix_ + "/aborted/00000000000000000007", "");
  ASSERT_THAT(Await<etcdserverpb::TxnResponse>(
                  [&](auto done) { planner_->candidate()->client()->Txn(request, "", kTimeout, done); }),
              IsOk());
  const Snapshot snapshot = planner_->store()->Load().value();
  EXPECT_EQ(snapshot.term, 5u);
  EXPECT_EQ(snapshot.since, 2u);
  EXPECT_EQ(snapshot.cluster, "c1");
  EXPECT_FALSE(snapshot.cluster_is_new);
  EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n1", "")));
  EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(7)});
}

TEST_F(EtcdStoreTest, TheNewestAbortedTeamsAreLoaded) {
  std::vector<StoreChange> changes;
  for (uint64_t id = 1; id <= coordinator::kAbortedMax + 3; ++id) changes.push_back(PutAborted{TeamId(id)});
  ASSERT_THAT(planner_->Commit(changes), IsOk());
  const Snapshot snapshot = LoadAsSuccessor();
  EXPECT_EQ(snapshot.aborted.size(), coordinator::kAbortedMax);
  EXPECT_EQ(*snapshot.aborted.begin(), TeamId(4));
  EXPECT_EQ(KeysBelow("/aborted/")->size(), coordinator::kAbortedMax);
}

TEST_F(EtcdStoreTest, KeepsTopologies) {
  const TopologyVersion first{.version = 1,
                              .applied = absl::FromUnixNanos(1'234'567'891),
                              .source = "file /etc/copse/topology.yaml",
                              .from_file = true,
                              .text = "switches: []"};
  const TopologyVersion tenth{.version = 10, .applied = first.applied};
  ASSERT_THAT(planner_->Commit({Put(first), Put({.version = 2}), Put(tenth)}), IsOk());
  ASSERT_THAT(planner_->Commit({coordinator::DropTopology{2}}), IsOk());
  EXPECT_EQ(LoadAsSuccessor().topologies, (std::map<uint64_t, TopologyVersion>{{1, first}, {10, tenth}}));
}

TEST_F(EtcdStoreTest, AFormerLeaderChangesNothing) {
  Planner next(cluster_->ClientOptions(), prefix_, "b:1");
  planner_->candidate()->leadership()->Resign();
  next.AwaitLeadership();
  EXPECT_THAT(planner_->Commit({Put(Record(1))}), FailsWith(StatusCode::kAborted, "leader=b:1"));
  EXPECT_THAT(planner_->store()->Load(), FailsWith(StatusCode::kAborted, "leader=b:1"));
  EXPECT_TRUE(KeysBelow("/team/")->empty());
}

TEST_F(EtcdStoreTest, ALeaderThatWasPausedKnowsItAtOnce) {
  const std::string prefix = prefix_ + "2";
  auto leader = procs::ChildProcess::Start({.arguments = {"/proc/self/exe", "lead", cluster_->endpoints()[0], prefix},
                                            .stdin_pipe = true,
                                            .stdout_pipe = true})
                    .value();
  ASSERT_EQ(leader->ReadLine(kTimeout).value(), "won OK");
  Planner next(cluster_->ClientOptions(), prefix, "b:1");
  ASSERT_EQ(next.candidate()->Next(), "leader a:1");
  leader->Signal(SIGSTOP);
  next.AwaitLeadership();
  ASSERT_THAT(leader->Write("go on\n"), IsOk());
  leader->Signal(SIGCONT);
  EXPECT_EQ(leader->ReadLine(kTimeout).value(), "invalid ABORTED");
  EXPECT_TRUE(next.store()->Load()->teams.contains(TeamId(1))) << "what it had committed before";
}

// The program of the leader of the test above.
int LeadAndReport(const std::string& endpoint, const std::string& prefix) {
  Planner planner({.endpoints = {endpoint}, .credentials = grpc::InsecureChannelCredentials()}, prefix, "a:1");
  planner.AwaitLeadership();
  std::cout << "won " << absl::StatusCodeToString(planner.Commit({Put(Record(1))}).code()) << std::endl;
  std::string line;
  std::getline(std::cin, line);
  std::cout << (planner.candidate()->leadership()->is_valid() ? "valid " : "invalid ");
  std::cout << absl::StatusCodeToString(planner.Commit({DropTeam{TeamId(1)}}).code()) << std::endl;
  return 0;
}

TEST(EtcdStoreMembersTest, NeedsAMajority) {
  const auto cluster = EtcdCluster::Start({.members = 3}).value();
  Planner planner(cluster->ClientOptions(), "/copse", "a:1", absl::Seconds(60));  // longer than all that follows
  planner.AwaitLeadership();
  ASSERT_THAT(planner.store()->Load(), IsOk());
  cluster->Kill(0);
  for (uint64_t id = 1; id <= 10; ++id) EXPECT_THAT(planner.Commit({Put(Record(id))}), IsOk());
  cluster->Kill(1);
  const absl::Time begin = MonotonicClock().Now();
  EXPECT_THAT(planner.Commit({Put(Record(11))}),
              FailsWith(StatusCode::kUnavailable, "endpoints=" + absl::StrJoin(cluster->endpoints(), ",")));
  EXPECT_LT(MonotonicClock().Now() - begin, EtcdClientOptions().timeout + absl::Seconds(1));
  ASSERT_THAT(cluster->Restart(1), IsOk());
  ASSERT_THAT(cluster->AwaitHealth(), IsOk());
  EXPECT_TRUE(planner.candidate()->leadership()->is_valid());
  EXPECT_THAT(planner.Commit({Put(Record(11))}), IsOk());
  planner.candidate()->leadership()->Resign();
  Planner next(cluster->ClientOptions(), "/copse", "b:1");
  next.AwaitLeadership();
  EXPECT_EQ(next.store()->Load()->teams.size(), 11u);
}

TEST(EtcdStoreQuotaTest, SaysThatEtcdIsFull) {
  const auto cluster = EtcdCluster::Start({.quota_bytes = 1 << 20}).value();
  Planner planner(cluster->ClientOptions(), "/copse", "a:1");
  planner.AwaitLeadership();
  absl::Status status;
  for (uint64_t id = 1; id <= 200 && status.ok(); ++id) status = planner.Commit({Put(LongRecord(id, 500'000, id))});
  EXPECT_THAT(status, FailsWith(StatusCode::kResourceExhausted, "endpoint=" + cluster->endpoints()[0]));
}

}  // namespace
}  // namespace copse::planner

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "lead") return copse::planner::LeadAndReport(argv[2], argv[3]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
