// SPDX-License-Identifier: Apache-2.0
#include "planner/store/sqlite_store.h"

#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "base/testing/status_matchers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace copse::planner {
namespace {

using absl::StatusCode;
using coordinator::TeamRecord;
using testing::FailsWith;

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest()
      : path_(std::string(getenv("TEST_TMPDIR")) + "/" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name()) {}

  // The ends of commits run on the store's thread.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& path) {
    return SqliteStore::Open(path, [](const std::function<void()>& task) { task(); });
  }
  std::unique_ptr<SqliteStore> Open() { return Open(path_).value(); }

  static absl::Status Commit(SqliteStore& store, std::vector<coordinator::StoreChange> changes) {
    std::promise<absl::Status> done;
    store.Commit(std::move(changes), [&](const absl::Status& status) { done.set_value(status); });
    return done.get_future().get();
  }

  const std::string path_;
};

TeamRecord Record(uint64_t id) {
  TeamRecord record;
  record.layout.id = TeamId(id);
  record.layout.identity = {.uid = 1000, .job = "42", .nonce = 7, .name = "world"};
  record.layout.shape = {.node_of_rank = {NodeIndex(0), NodeIndex(1), NodeIndex(0)}, .node_count = 2};
  record.layout.nodes = {{"n0", Incarnation(11), ""}, {"n1", Incarnation(~uint64_t{0}), ""}};
  record.layout.window = 8;
  record.epoch = EpochId(3);
  record.prepared = EpochId(4);
  record.first_call = CallSeq(1234567890123);
  record.machines = {"m1", ""};
  record.plan_ids = {PlanId(5)};
  record.content = "sha256";
  record.outgoing = {{{NodeIndex(1), 0xdeadbeef}}, {{NodeIndex(0), 1}}};
  return record;
}

coordinator::PutTeam Put(const TeamRecord& record) { return {std::make_shared<const TeamRecord>(record)}; }
coordinator::PutTopology Put(const coordinator::TopologyVersion& version) {
  return {std::make_shared<const coordinator::TopologyVersion>(version)};
}

TEST_F(SqliteStoreTest, KeepsEverythingAcrossOpenings) {
  TeamRecord broken = Record(9);
  broken.broken = true;
  broken.why = {schedule::Failure::kMemberLost, "rank 1 on node n1 lost"};
  {
    auto store = Open();
    ASSERT_TRUE(Commit(*store, {Put(Record(8)), Put(Record(9)), coordinator::PutTerm{3}}).ok());
    ASSERT_TRUE(Commit(*store, {Put(broken), Put(Record(10)), coordinator::DropTeam{TeamId(10)}}).ok()) << "replaces";
    ASSERT_TRUE(Commit(*store, {coordinator::PutDraining{"n1", true, "disk"}, coordinator::PutDraining{"n2", true},
                                coordinator::PutDraining{"n2", false}, coordinator::PutTerm{4, 2},
                                coordinator::PutAborted{TeamId(77)}, coordinator::PutCluster{"c1", true}})
                    .ok());
  }
  const auto snapshot = Open()->Load().value();
  ASSERT_EQ(snapshot.teams.size(), 2u);
  EXPECT_TRUE(snapshot.teams.at(TeamId(8)) == Record(8));
  EXPECT_TRUE(snapshot.teams.at(TeamId(9)) == broken);
  EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n1", "disk")));
  EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(77)});
  EXPECT_EQ(snapshot.term, 4u);
  EXPECT_EQ(snapshot.since, 2u);
  EXPECT_EQ(snapshot.cluster, "c1");
  EXPECT_TRUE(snapshot.cluster_is_new);
  const auto reading = Open()->ReadState().value();
  EXPECT_EQ(reading.snapshot.teams, snapshot.teams);
  EXPECT_TRUE(reading.damaged.empty());
}

TEST_F(SqliteStoreTest, NewFileIsEmpty) {
  const auto snapshot = Open()->Load().value();
  EXPECT_TRUE(snapshot.teams.empty());
  EXPECT_EQ(snapshot.term, 0u);
}

TEST_F(SqliteStoreTest, ASecondPlannerIsRefused) {
  auto first = Open();
  ASSERT_NE(first, nullptr);
  EXPECT_THAT(Open(path_), FailsWith(StatusCode::kFailedPrecondition, "state=" + path_));
}

TEST_F(SqliteStoreTest, GarbageIsNoStateFile) {
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_THAT(Open(path_), FailsWith(StatusCode::kFailedPrecondition, path_));
}

TEST_F(SqliteStoreTest, ADamagedFileIsRefused) {
  {
    auto store = Open();
    for (uint64_t id = 1; id <= 50; ++id) ASSERT_TRUE(Commit(*store, {Put(Record(id))}).ok());
  }
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(4096);
    for (int i = 0; i < 8192; ++i) file.put('\x5a');
  }
  auto store = Open(path_);
  const absl::Status refused = store.ok() ? (*store)->Load().status() : store.status();
  EXPECT_EQ(refused.code(), StatusCode::kFailedPrecondition) << refused;
}

// RawDatabase makes changes that only a faulty program, or a disk, makes to the file.
class RawDatabase {
 public:
  explicit RawDatabase(const std::string& path) { EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK); }
  ~RawDatabase() { sqlite3_close(handle_); }
  void Run(const std::string& sql) {
    EXPECT_EQ(sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle_);
  }
  int Count(const std::string& table) {
    int count = -1;
    const auto take = [](void* into, int, char** row, char**) {
      *static_cast<int*>(into) = atoi(row[0]);
      return 0;
    };
    sqlite3_exec(handle_, ("SELECT count(*) FROM " + table).c_str(), take, &count, nullptr);
    return count;
  }

 private:
  sqlite3* handle_ = nullptr;
};

TEST_F(SqliteStoreTest, AFileOfANewerPlannerIsRefusedAndKept) {
  ASSERT_TRUE(Commit(*Open(), {Put(Record(1))}).ok());
  RawDatabase(path_).Run("PRAGMA user_version=99");
  EXPECT_THAT(Open(path_), FailsWith(StatusCode::kInvalidArgument, "state=" + path_, "schema=99", "this program's=1"));
  RawDatabase(path_).Run("PRAGMA user_version=1");
  EXPECT_EQ(Open()->Load().value().teams.size(), 1u);
}

TEST_F(SqliteStoreTest, ADamagedRecordIsPutAsideAndNamed) {
  {
    auto store = Open();
    for (uint64_t id = 1; id <= 5; ++id) ASSERT_TRUE(Commit(*store, {Put(Record(id))}).ok());
  }
  RawDatabase(path_).Run(
      "UPDATE team SET record = x'ff00', sum = NULL WHERE id = 2;"
      "UPDATE team SET record = (SELECT record FROM team WHERE id = 5), sum = NULL WHERE id = 4");
  for (const char* when : {"damaged", "the next start"}) {
    auto store = Open();
    ::testing::internal::CaptureStderr();
    const auto snapshot = store->Load();
    const std::string said = ::testing::internal::GetCapturedStderr();
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->teams.size(), 3u) << when;
    EXPECT_EQ(snapshot->teams.count(TeamId(2)) + snapshot->teams.count(TeamId(4)), 0u) << when;
    const bool now = when == std::string("damaged");
    for (const std::string& named : {std::string("row=team/2,"), std::string("row=team/4,"), "state=" + path_}) {
      EXPECT_EQ(said.find(named) != std::string::npos, now) << when << ": " << said;
    }
  }
  EXPECT_EQ(RawDatabase(path_).Count("quarantine"), 2);
}

TEST_F(SqliteStoreTest, AChangedByteOfEachKindOfRowIsFound) {
  {
    auto store = Open();
    ASSERT_TRUE(
        Commit(*store, {Put(Record(3'000'007)), coordinator::PutTerm{5, 1}, coordinator::PutCluster{"c1", false},
                        coordinator::PutDraining{"n1", true}, coordinator::PutDraining{"n2", true},
                        coordinator::PutAborted{TeamId(7)}, coordinator::PutAborted{TeamId(8)},
                        Put({.version = 1, .text = "version: 1\n"}), Put({.version = 2, .text = "version: 1\n"})})
            .ok());
  }
  RawDatabase(path_).Run(
      "UPDATE team SET record = CAST(replace(record, CAST('world' AS BLOB), CAST('worle' AS BLOB)) AS BLOB);"
      "UPDATE meta SET value = value + 1 WHERE key = 'term';"
      "UPDATE meta SET value = CAST('c2' AS BLOB) WHERE key = 'cluster';"
      "UPDATE draining SET node = CAST('n3' AS BLOB) WHERE node = CAST('n1' AS BLOB);"
      "UPDATE aborted SET team = 6 WHERE team = 7;"
      "UPDATE topology SET text = CAST('version: 2' AS BLOB) WHERE version = 2");
  EXPECT_EQ(Open()->ReadState()->damaged.size(), 6u);
  for (const char* when : {"damaged", "the next start"}) {
    auto store = Open();
    ::testing::internal::CaptureStderr();
    const auto snapshot = store->Load().value();
    const bool now = when == std::string("damaged");
    EXPECT_EQ(::testing::internal::GetCapturedStderr().find("row=draining/n3") != std::string::npos, now) << when;
    EXPECT_EQ(snapshot.quarantined, 6u) << when;
    EXPECT_TRUE(snapshot.teams.empty()) << when;
    EXPECT_EQ(snapshot.cluster, "") << when;
    EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n2", ""))) << when;
    EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(8)}) << when;
    EXPECT_GT(snapshot.since, snapshot.term) << when << ": nothing is sure to be recorded";
    EXPECT_EQ(snapshot.topologies.size(), 1u) << when;
  }
  EXPECT_EQ(Open()->ReadState()->damaged.size(), 6u) << "what is kept aside";
}

TEST_F(SqliteStoreTest, RowsOfEarlierVersionsHaveNoChecksum) {
  {
    auto store = Open();
    ASSERT_TRUE(
        Commit(*store, {Put(Record(8)), coordinator::PutTerm{5, 1}, coordinator::PutDraining{"n1", true}}).ok());
  }
  RawDatabase(path_).Run("UPDATE team SET sum = NULL; UPDATE meta SET sum = NULL; UPDATE draining SET sum = NULL");
  const auto snapshot = Open()->Load().value();
  EXPECT_EQ(snapshot.teams.size(), 1u);
  EXPECT_EQ(snapshot.term, 5u);
  EXPECT_THAT(snapshot.draining, ::testing::ElementsAre(::testing::Pair("n1", "")));
}

TEST_F(SqliteStoreTest, TheNewestAbortedTeamsAreKept) {
  constexpr uint64_t kMore = 10;
  Open().reset();
  RawDatabase(path_).Run("WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < " +
                         std::to_string(coordinator::kAbortedMax + kMore - 1) +
                         ") INSERT INTO aborted (team) SELECT id FROM n");
  ASSERT_TRUE(Commit(*Open(), {coordinator::PutAborted{TeamId(coordinator::kAbortedMax + kMore)}}).ok());
  const auto snapshot = Open()->Load().value();
  EXPECT_EQ(snapshot.aborted.size(), coordinator::kAbortedMax);
  EXPECT_EQ(*snapshot.aborted.begin(), TeamId(kMore + 1));
}

TEST_F(SqliteStoreTest, AFullDiskRefusesAndLosesNothing) {
  // The test mounts a small file system that only this process sees.
  const std::string disk = path_ + ".disk";
  ASSERT_EQ(mkdir(disk.c_str(), 0700), 0);
  if (unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) != 0 ||
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "no file system can be mounted: " << strerror(errno);
  }
  const std::string state = disk + "/state.db", filler = disk + "/filler";
  uint64_t saved = 0;
  const auto fill = [&] { std::ofstream(filler) << std::string(1 << 20, 'x'); };
  {
    const auto opened = Open(state).value();
    SqliteStore& store = *opened;
    while (saved < 20) ASSERT_TRUE(Commit(store, {Put(Record(++saved))}).ok());
    fill();
    absl::Status refused;
    while (refused.ok() && saved < 10000) {
      refused = Commit(store, {Put(Record(saved + 1))});
      if (refused.ok()) ++saved;
    }
    EXPECT_THAT(refused, FailsWith(StatusCode::kResourceExhausted, "state=" + state));
    EXPECT_FALSE(Commit(store, {coordinator::PutTerm{9}, Put(Record(saved + 1)), Put(Record(saved + 2))}).ok());
    unlink(filler.c_str());
    EXPECT_TRUE(Commit(store, {Put(Record(++saved)), coordinator::PutAborted{TeamId(8)}}).ok())
        << "there is room again";
  }
  const auto snapshot = (*Open(state))->Load().value();
  EXPECT_EQ(snapshot.teams.size(), saved);
  EXPECT_EQ(snapshot.aborted, std::set<TeamId>{TeamId(8)});
  EXPECT_EQ(snapshot.term, 0u);
  unlink(state.c_str());
  fill();
  EXPECT_THAT(Open(state), FailsWith(StatusCode::kResourceExhausted, "state=" + state));
}

TEST_F(SqliteStoreTest, AFolderThatIsNotThere) {
  EXPECT_THAT(Open("/nowhere/state.db"), FailsWith(StatusCode::kUnavailable, "state=/nowhere/state.db"));
}

TEST_F(SqliteStoreTest, KeepsTopologies) {
  coordinator::TopologyVersion second{.version = 2,
                                      .applied = absl::FromUnixSeconds(1'700'000'000),
                                      .source = "probe",
                                      .from_file = true,
                                      .text = "version: 1\n"};
  coordinator::TopologyVersion first = second, third = second;
  first.version = 1;
  third = {.version = 3, .applied = second.applied, .source = "import"};
  {
    const auto store = Open();
    EXPECT_TRUE(store->Load()->topologies.empty());
    ASSERT_TRUE(Commit(*store, {Put(first), Put(second), Put(third)}).ok());
    ASSERT_TRUE(Commit(*store, {coordinator::DropTopology{1}}).ok());
  }
  EXPECT_EQ(Open()->Load()->topologies, (std::map<uint64_t, coordinator::TopologyVersion>{{2, second}, {3, third}}));
}

}  // namespace
}  // namespace copse::planner
