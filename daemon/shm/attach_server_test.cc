// SPDX-License-Identifier: Apache-2.0
//
// How clients come and go.

#include "daemon/shm/attach_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/log_budget.h"
#include "base/testing/descriptor_limit.h"
#include "base/testing/status_matchers.h"
#include "base/version.h"
#include "daemon/accounts/accounts.h"
#include "daemon/shm/testing/attach_fixture.h"

namespace copse::daemon {
namespace {

using attach::MessageType;
using copse::testing::Names;

using AttachServerTest = AttachFixture;

// --- Counts of early returns ---

TEST_F(AttachServerTest, CountsOfClientsStayWhenTheyAreGone) {
  const auto first = Attached(), second = Attached();
  EXPECT_EQ(EarlyCalls(), 0u);
  first->header()->early[static_cast<uint32_t>(ring::EarlyCount::kCalls)].store(5);
  second->header()->early[static_cast<uint32_t>(ring::EarlyCount::kCalls)].store(70);
  EXPECT_EQ(EarlyCalls(), 75u);
  first->Close();
  ASSERT_TRUE(AwaitClients(1));
  EXPECT_EQ(EarlyCalls(), 75u);
  second->header()->early[static_cast<uint32_t>(ring::EarlyCount::kCalls)].store(71);
  EXPECT_EQ(EarlyCalls(), 76u);
  // One that never attached counts nothing.
  const RawClient silent = Connect();
  daemon_->Turn();
  EXPECT_EQ(EarlyCalls(), 76u);
}

// --- Attach ---

TEST_F(AttachServerTest, AttachesAndAnswersANop) {
  RawClient client = Connect();
  const attach::AttachReply reply = client.Attach();
  ASSERT_EQ(reply.status, 0) << reply.text;
  EXPECT_EQ(reply.ring_version, kRingLayoutVersion);
  EXPECT_EQ(reply.incarnation, 4711u);
  EXPECT_EQ(reply.dq_entries, 256u);
  EXPECT_EQ(reply.data_bytes, 1u << 20);
  EXPECT_EQ(reply.message_bytes_max, schedule::kCallBytesMax);
  EXPECT_STREQ(reply.node, "n1");
  EXPECT_EQ(client.page()->incarnation, 4711u);
  EXPECT_TRUE(AnswersNop(&client));
  EXPECT_EQ(client.header()->dq_head.load(), 1u);
}

TEST_F(AttachServerTest, AClientCannotWriteTheDaemonsPage) {
  const auto client = Attached();
  EXPECT_NE(mprotect(const_cast<ring::DaemonPage*>(client->page()), ring::kPageBytes, PROT_READ | PROT_WRITE), 0);
}

TEST_F(AttachServerTest, RefusesAnotherRingLayoutWithBothNumbers) {
  attach::AttachRequest request = RawClient::Request();
  request.ring_version = kRingLayoutVersion + 2;
  RawClient client = Connect();
  const attach::AttachReply reply = client.Attach(request);
  EXPECT_EQ(reply.status, kVersionRefused);
  EXPECT_EQ(reply.ring_version, kRingLayoutVersion);
  EXPECT_THAT(reply.text,
              Names(absl::StrCat("layout ", kRingLayoutVersion + 2), absl::StrCat("side ", kRingLayoutVersion)));
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(AttachServerTest, RefusesAnotherRingLayoutWhateverFollowsTheNumber) {
  attach::AttachRequest request = RawClient::Request();
  request.ring_version = 99;
  RawClient client = Connect();
  client.SendRaw(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&request), 24));
  EXPECT_EQ(MessageTo<attach::AttachReply>(&client, MessageType::kAttachReply).status, kVersionRefused);
}

TEST_F(AttachServerTest, TakesTheNeighboringRingLayout) {
  attach::AttachRequest request = RawClient::Request();
  request.ring_version = kRingLayoutVersion + 1;
  Attached(request);
}

TEST_F(AttachServerTest, RefusesSizesBeyondItsQuotas) {
  struct Case {
    uint32_t dq, eq, mpq;
    uint64_t data;
    int32_t status;
    const char* text;
  };
  for (const Case& c :
       {Case{3, 0, 0, 0, kInvalidArgument, "dq_entries=3"},
        Case{8192, 0, 0, 0, kNoResource, "dq_entries=8192, limit=4096"},
        Case{0, 5, 0, 0, kInvalidArgument, "eq_entries=5"}, Case{0, 1u << 31, 0, 0, kNoResource, "limit=4096"},
        Case{0, 0, 1, 0, kNotSupported, "mpq_entries=1"}, Case{0, 0, 0, (64u << 20) + 1, kNoResource, "limit=67108864"},
        Case{0, 0, 0, ~uint64_t{0}, kNoResource, "limit=67108864"}}) {
    attach::AttachRequest request = RawClient::Request();
    request.dq_entries = c.dq;
    request.eq_entries = c.eq;
    request.mpq_entries = c.mpq;
    request.data_bytes = c.data;
    RawClient client = Connect();
    const attach::AttachReply reply = client.Attach(request);
    EXPECT_EQ(reply.status, c.status) << c.text;
    EXPECT_TRUE(absl::StrContains(reply.text, c.text)) << reply.text;
  }
}

TEST_F(AttachServerTest, GrantsWhatIsAskedWithinQuotas) {
  attach::AttachRequest request = RawClient::Request();
  request.dq_entries = 1;
  request.eq_entries = 4096;
  request.data_bytes = 5000;
  RawClient client = Connect();
  const attach::AttachReply reply = client.Attach(request);
  EXPECT_EQ(reply.dq_entries, 1u);
  EXPECT_EQ(reply.eq_entries, 4096u);
  EXPECT_EQ(reply.data_bytes, 5000u);
  EXPECT_TRUE(AnswersNop(&client));
}

TEST_F(AttachServerTest, MemoryForClientsIsBoundedAndGivenBack) {
  Start({.ports_bytes_max = 3u << 20});
  const auto first = Attached();
  const auto second = Attached();
  RawClient third = Connect();
  EXPECT_EQ(third.Attach().status, kNoResource);
  first->Close();
  ASSERT_TRUE(AwaitClients(1));
  Attached();
}

TEST_F(AttachServerTest, ANodeOf256RanksNeedsNoSettings) {
  rlimit files;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &files), 0);
  constexpr uint32_t kRanks = 256;
  if (files.rlim_max < 8 * kRanks) GTEST_SKIP() << "no limit of open files for both sides of so many clients";
  files.rlim_cur = files.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &files), 0);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    clients.push_back(Attached());
    clients.back()->AskTeam(1, "full", rank, kRanks);
  }
  for (const auto& client : clients) {
    const attach::TeamReady ready = client->AwaitTeam();
    ASSERT_EQ(ready.status, 0) << ready.text;
    FirstOf(client.get()) = 1;
    client->Post(AllreduceSlot(ready.handle, 1, 5));
  }
  for (const auto& client : clients) {
    const ring::EqEntry event = EventOf(client.get());
    EXPECT_EQ(event.status, 0) << client->Text(event);
    EXPECT_EQ(FirstOf(client.get()), kRanks);
  }
}

TEST_F(AttachServerTest, ClientsAreBounded) {
  Start({.clients_max = 2});
  const auto first = Attached();
  RawClient second = Connect();
  ASSERT_TRUE(AwaitClients(2));
  RawClient third = Connect();
  const auto reply = MessageTo<attach::AttachReply>(&third, MessageType::kAttachReply);
  EXPECT_EQ(reply.status, kNoResource);
  EXPECT_TRUE(absl::StrContains(reply.text, absl::StrCat("uid=", geteuid(), ", used=2, used by all=2, limit=2")))
      << reply.text;
}

TEST_F(AttachServerTest, ConnectionsThatSayNothingAreBounded) {
  Start({.mute_max = 2});
  const auto attached = Attached();
  std::vector<std::unique_ptr<RawClient>> mute;
  for (size_t i = 1; i <= 2; ++i) {
    mute.push_back(std::make_unique<RawClient>(Connect()));
    ASSERT_TRUE(AwaitClients(1 + i));
  }
  RawClient refused = Connect();
  const auto reply = MessageTo<attach::AttachReply>(&refused, MessageType::kAttachReply);
  EXPECT_EQ(reply.status, kNoResource);
  EXPECT_TRUE(absl::StrContains(reply.text, absl::StrCat("uid=", geteuid(), ", connections=2, limit=2)")))
      << reply.text;
  EXPECT_EQ(mute[0]->Attach().status, 0) << "that have said something count no more";
  EXPECT_EQ(Connect().Attach().status, 0);
}

TEST_F(AttachServerTest, RefusesWhenDescriptorsRunOut) {
  const auto client = Attached();
  auto few = std::make_optional<DescriptorLimit>(1);  // enough for the test's end of a connection
  RawClient other = Connect();
  const auto reply = MessageTo<attach::AttachReply>(&other, MessageType::kAttachReply);
  few.reset();
  EXPECT_EQ(reply.status, kNoResource);
  EXPECT_TRUE(AnswersNop(client.get()));
  Attached();
}

TEST_F(AttachServerTest, DropsWhoConnectsAndSaysNothing) {
  Start({.greeting_timeout = absl::Milliseconds(5)});
  RawClient client = Connect();
  ExpectDropped(&client, "limit=5ms");
}

TEST_F(AttachServerTest, AUserWhoConnectsWithoutEndFillsNoLog) {
  Start({});
  ::testing::internal::CaptureStderr();
  for (uint32_t i = 0; i < 2 * LogBudget::kBurst; ++i) {
    const RawClient client = Connect();
    daemon_->Turn();
  }
  for (int i = 0; i < 10; ++i) daemon_->Turn();
  const std::string log = ::testing::internal::GetCapturedStderr();
  const auto lines = static_cast<uint32_t>(std::count(log.begin(), log.end(), '\n'));
  EXPECT_GT(lines, LogBudget::kBurst / 2);
  EXPECT_LT(lines, LogBudget::kBurst * 3 / 2);
}

// --- Malformed messages ---

TEST_F(AttachServerTest, MalformedMessagesDropTheirSenderOnly) {
  const auto other = Attached();
  const auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 1);
  const auto unknown = NewMessage<attach::TeamDestroy>(static_cast<MessageType>(99), 1);
  const auto short_create = NewMessage<attach::TeamDestroy>(MessageType::kTeamCreate, 1);
  auto magic = destroy;
  magic.head.magic = 1;
  const auto memory = NewMessage<attach::RegisterMemory>(MessageType::kRegisterMemory, 1);
  const std::vector<std::pair<std::string, std::function<void(RawClient&)>>> cases = {
      {"bytes=3",
       [&](RawClient& c) {
         c.SendRaw({1, 2, 3});
       }},
      {absl::StrCat("limit=", attach::kMessageBytesMax), [&](RawClient& c) { c.SendRaw(std::vector<uint8_t>(2000)); }},
      {"magic=1", [&](RawClient& c) { c.Send(magic); }},
      {"type=99", [&](RawClient& c) { c.Send(unknown); }},
      {"type=3", [&](RawClient& c) { c.Send(short_create); }},
      {"type=1, attached=yes", [&](RawClient& c) { c.Send(RawClient::Request()); }},
      {"descriptors=1, limit=0", [&](RawClient& c) { c.Send(destroy, {STDIN_FILENO}); }},
      {"descriptors=0, limit=1", [&](RawClient& c) { c.Send(memory); }},
      {"descriptors=2, limit=1",
       [&](RawClient& c) {
         c.Send(memory, {STDIN_FILENO, STDIN_FILENO});
       }},
  };
  for (const auto& [things, send] : cases) {
    const auto client = Attached();
    send(*client);
    ExpectDropped(client.get(), things);
    EXPECT_EQ(client->header()->closed.load(), 1u);
    EXPECT_TRUE(AnswersNop(other.get())) << things;
  }
}

TEST_F(AttachServerTest, NothingComesBeforeTheAttachRequest) {
  RawClient client = Connect();
  client.Send(NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 1));
  ExpectDropped(&client, "attached=no");
}

TEST_F(AttachServerTest, RefusesAJobThatIsNotText) {
  attach::AttachRequest request = RawClient::Request();
  memset(request.job, 'x', sizeof(request.job));
  RawClient client = Connect();
  EXPECT_EQ(client.Attach(request).status, kInvalidArgument);
}

TEST_F(AttachServerTest, AClientThatNeverReadsIsDropped) {
  const auto client = Attached();
  auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 1);
  destroy.handle = 99;
  ASSERT_TRUE(daemon_->TurnUntil([&] {
    for (int i = 0; i < 16; ++i) {
      if (!client->Send(destroy)) break;
    }
    return daemon_->server().client_count() == 0;
  }));
}

TEST_F(AttachServerTest, WhatHasNoNumberIsNotAnswered) {
  const auto client = Attached();
  auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 0);
  destroy.handle = 99;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(client->Send(destroy)) << i;
    daemon_->Turn();
  }
  destroy.head.request = 5;
  ASSERT_TRUE(client->Send(destroy));
  const attach::Done done = DoneOf(client.get());
  EXPECT_EQ(done.head.request, 5u);
  EXPECT_EQ(done.status, kInvalidArgument);
}

// --- Ends ---

TEST_F(AttachServerTest, AClientThatTookLeaveIsMissedByNameOnly) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  AskDestroy(a.get(), 8, first);
  a->Close();  // does not even wait for the answer
  ASSERT_TRUE(AwaitClients(1));
  b->Post(AllreduceSlot(second, 1, 2));
  const ring::EqEntry event = EventOf(b.get());
  EXPECT_EQ(event.status, kMemberLost);
  EXPECT_EQ(event.cause, static_cast<uint8_t>(FailureCause::kMemberLeft));
  EXPECT_EQ(event.rank, 0u);
}

TEST_F(AttachServerTest, AClientThatClosesWithALiveTeamBreaksIt) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  b->Post(AllreduceSlot(second, 1, 2));
  a->Close();
  const ring::EqEntry event = EventOf(b.get());
  EXPECT_EQ(event.status, kMemberLost);
  EXPECT_THAT(b->Text(event), Names("rank 0 on node n1", absl::StrCat("process ", getpid())));
}

TEST_F(AttachServerTest, ADrainIsToldAndAShutdownClosesPorts) {
  const auto client = Attached();
  daemon_->core().StartDrain("maintenance");
  EXPECT_STREQ(MessageTo<attach::Closing>(client.get(), MessageType::kClosing).text, "maintenance");
  daemon_->server().Shutdown("the daemon stops");
  ExpectDropped(client.get(), "the daemon stops");
  EXPECT_EQ(client->header()->closed.load(), 1u);
  RawClient late = Connect();
  EXPECT_FALSE(late.Send(RawClient::Request()));
}

// --- Posts ---

TEST_F(AttachServerTest, AUserWithManyClientsAddsLittleToATurn) {
  constexpr uint32_t kClients = 3 * PostShares::kPerUser / kPostsPerTurn;
  std::vector<std::unique_ptr<RawClient>> clients;
  for (uint32_t i = 0; i < kClients; ++i) clients.push_back(Attached());
  for (const auto& client : clients) {
    for (uint64_t i = 0; i < kPostsPerTurn; ++i) client->PostNop(i);
  }
  const auto taken = [&] {
    uint64_t sum = 0;
    for (const auto& client : clients) sum += client->header()->dq_head.load();
    return sum;
  };
  // Each turn serves those who waited longest, and the last one is not the end of the work.
  for (uint32_t turn = 1; turn <= 3; ++turn) {
    EXPECT_TRUE(daemon_->server().ReadPosts());
    EXPECT_EQ(taken(), turn * PostShares::kPerUser);
  }
  for (const auto& client : clients) EXPECT_EQ(client->header()->dq_head.load(), kPostsPerTurn);
  EXPECT_FALSE(daemon_->server().ReadPosts());
}

TEST_F(AttachServerTest, QuietClientsAreLookedAtInTurns) {
  constexpr size_t kClients = 256, kPosters = 96;
  std::vector<std::unique_ptr<RawClient>> clients;
  while (clients.size() < kClients) clients.push_back(Attached());
  const auto taken = [&] {
    uint64_t sum = 0;
    for (const auto& client : clients) sum += client->header()->dq_head.load();
    return sum;
  };
  const auto grow_quiet = [&] {
    for (int turn = 0; turn < 1000; ++turn) daemon_->server().ReadPosts();
  };
  grow_quiet();
  for (size_t i = 0; i < kPosters; ++i) clients[i]->PostNop(1);
  EXPECT_TRUE(daemon_->server().ReadPosts());
  EXPECT_GT(taken(), 0u);
  EXPECT_LT(taken(), kPosters / 2);
  for (int turn = 0; turn < 8; ++turn) daemon_->server().ReadPosts();
  EXPECT_EQ(taken(), kPosters);
  // Before it sleeps the daemon looks at all.
  grow_quiet();
  for (size_t i = 0; i < kPosters; ++i) clients[i]->PostNop(2);
  daemon_->pages().SetSleeping(true);
  EXPECT_TRUE(daemon_->server().ReadPosts());
  EXPECT_EQ(taken(), 2 * kPosters);
}

TEST_F(AttachServerTest, ManyRanksFormTeamsBesideAUserWhoTookAllTeams) {
  const std::shared_ptr<Account> greedy = daemon_->core().accounts().Open(4711, "slurm-17");
  std::vector<Account::Holding> taken;
  for (auto one = greedy->Take(Resource::kTeams); one.ok(); one = greedy->Take(Resource::kTeams)) {
    taken.push_back(*std::move(one));
  }
  EXPECT_GT(taken.size(), 0u);
  constexpr uint32_t kRanks = 8;
  std::vector<std::unique_ptr<RawClient>> ranks;
  while (ranks.size() < kRanks) ranks.push_back(Attached());
  for (const char* const team : {"first", "second"}) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) ranks[rank]->AskTeam(1, team, rank, kRanks);
    for (const auto& rank : ranks) {
      const attach::TeamReady ready = rank->AwaitTeam();
      EXPECT_EQ(ready.status, 0) << ready.text;
    }
  }
}

TEST_F(AttachServerTest, WhatIsHeldForNobodyIsFoundWithinAMinute) {
  const auto client = Attached();
  const auto look = [&] {
    daemon_->clock().Skip(absl::Minutes(1));
    daemon_->Turn();
    return daemon_->server().orphans();
  };
  EXPECT_EQ(look(), 0u) << "a process that is attached";
  std::optional<Account::Holding> left = *daemon_->core().accounts().Open(4711, "slurm-17")->Take(Resource::kTeams);
  EXPECT_EQ(daemon_->server().orphans(), 0u) << "the last look";
  EXPECT_EQ(look(), 1u);
  left.reset();
  EXPECT_EQ(look(), 0u);
}

}  // namespace
}  // namespace copse::daemon
