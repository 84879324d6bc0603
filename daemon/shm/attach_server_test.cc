// SPDX-License-Identifier: Apache-2.0

#include "daemon/shm/attach_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/version.h"
#include "daemon/shm/one_node_daemon.h"
#include "daemon/shm/raw_client.h"

namespace copse::daemon {
namespace {

using attach::MessageType;

constexpr int32_t kInvalidArgument = -1;
constexpr int32_t kVersionRefused = -3;
constexpr int32_t kNoResource = -4;
constexpr int32_t kTimedOut = -5;
constexpr int32_t kMemberLost = -6;
constexpr int32_t kNotSupported = -9;

class AttachServerTest : public testing::Test {
 protected:
  void Start(AttachOptions options = {}) { daemon_ = std::make_unique<OneNodeDaemon>(options); }
  RawClient Connect() { return RawClient(daemon_->socket(), daemon_->turn()); }
  std::unique_ptr<RawClient> Attached() {
    auto client = std::make_unique<RawClient>(daemon_->socket(), daemon_->turn());
    EXPECT_EQ(client->Attach().status, 0);
    return client;
  }
  // Two members of one team; their handles.
  std::pair<uint32_t, uint32_t> Team(RawClient* a, RawClient* b, const std::string& name = "team") {
    a->AskTeam(1, name, 0, 2);
    b->AskTeam(1, name, 1, 2);
    const attach::TeamReady first = a->AwaitTeam();
    const attach::TeamReady second = b->AwaitTeam();
    EXPECT_EQ(first.status, 0) << first.text;
    EXPECT_EQ(second.status, 0) << second.text;
    return {first.handle, second.handle};
  }
  bool AnswersNop(RawClient* client) {
    client->PostNop(77);
    const auto event = client->AwaitEvent();
    return event.has_value() && event->value == 77 && event->status == 0;
  }
  void ExpectDropped(RawClient* client, const char* why) {
    std::string text;
    EXPECT_TRUE(client->AwaitClose(&text));
    EXPECT_TRUE(absl::StrContains(text, why)) << text;
  }

  std::unique_ptr<OneNodeDaemon> daemon_ = std::make_unique<OneNodeDaemon>();
};

// --- Attach ---

TEST_F(AttachServerTest, AttachesAndAnswersANop) {
  RawClient client = Connect();
  const attach::AttachReply reply = client.Attach();
  ASSERT_EQ(reply.status, 0) << reply.text;
  EXPECT_EQ(reply.ring_version, kRingLayoutVersion);
  EXPECT_EQ(reply.incarnation, 4711u);
  EXPECT_EQ(reply.dq_entries, 256u);
  EXPECT_EQ(reply.data_bytes, 1u << 20);
  EXPECT_EQ(reply.message_bytes_max, 64u * 1024);
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
  EXPECT_STREQ(reply.text,
               absl::StrCat("ring layout ", kRingLayoutVersion + 2, " (this side ", kRingLayoutVersion, ")").c_str());
  EXPECT_TRUE(client.AwaitClose());
}

TEST_F(AttachServerTest, RefusesAnotherRingLayoutWhateverFollowsTheNumber) {
  attach::AttachRequest request = RawClient::Request();
  request.ring_version = 99;
  RawClient client = Connect();
  client.SendRaw(absl::MakeConstSpan(reinterpret_cast<const uint8_t*>(&request), 24));
  const auto reply = client.Receive<attach::AttachReply>(MessageType::kAttachReply);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, kVersionRefused);
}

TEST_F(AttachServerTest, TakesTheNeighbouringRingLayout) {
  attach::AttachRequest request = RawClient::Request();
  request.ring_version = kRingLayoutVersion + 1;
  RawClient client = Connect();
  EXPECT_EQ(client.Attach(request).status, 0);
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
  ASSERT_TRUE(daemon_->TurnUntil([&] { return daemon_->server().client_count() == 1; }));
  Attached();
}

TEST_F(AttachServerTest, ClientsAreBounded) {
  Start({.clients_max = 2});
  const auto first = Attached();
  RawClient second = Connect();
  ASSERT_TRUE(daemon_->TurnUntil([&] { return daemon_->server().client_count() == 2; }));
  RawClient third = Connect();
  const auto reply = third.Receive<attach::AttachReply>(MessageType::kAttachReply);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, kNoResource);
  EXPECT_TRUE(absl::StrContains(reply->text, "clients=2, limit=2")) << reply->text;
}

TEST_F(AttachServerTest, RefusesWhenDescriptorsRunOut) {
  const auto client = Attached();
  const int next = dup(STDIN_FILENO);
  close(next);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next) + 1;  // enough for the test's end of a connection
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  RawClient other = Connect();
  const auto reply = other.Receive<attach::AttachReply>(MessageType::kAttachReply);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->status, kNoResource);
  EXPECT_TRUE(AnswersNop(client.get()));
  Attached();
}

TEST_F(AttachServerTest, DropsWhoConnectsAndSaysNothing) {
  Start({.greeting_timeout = absl::Milliseconds(5)});
  RawClient client = Connect();
  ExpectDropped(&client, "did not attach");
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
  const std::vector<std::pair<const char*, std::function<void(RawClient&)>>> cases = {
      {"too short",
       [&](RawClient& c) {
         c.SendRaw({1, 2, 3});
       }},
      {"too long", [&](RawClient& c) { c.SendRaw(std::vector<uint8_t>(2000)); }},
      {"wrong magic", [&](RawClient& c) { c.Send(magic); }},
      {"type=99", [&](RawClient& c) { c.Send(unknown); }},
      {"type=3", [&](RawClient& c) { c.Send(short_create); }},
      {"attached already", [&](RawClient& c) { c.Send(RawClient::Request()); }},
      {"descriptors=1, limit=0", [&](RawClient& c) { c.Send(destroy, {STDIN_FILENO}); }},
      {"descriptors=0, limit=1", [&](RawClient& c) { c.Send(memory); }},
      {"descriptors=2, limit=1",
       [&](RawClient& c) {
         c.Send(memory, {STDIN_FILENO, STDIN_FILENO});
       }},
  };
  for (const auto& [why, send] : cases) {
    const auto client = Attached();
    send(*client);
    ExpectDropped(client.get(), why);
    EXPECT_EQ(client->header()->closed.load(), 1u);
    EXPECT_TRUE(AnswersNop(other.get())) << why;
  }
}

TEST_F(AttachServerTest, NothingComesBeforeTheAttachRequest) {
  RawClient client = Connect();
  client.Send(NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 1));
  ExpectDropped(&client, "not attached yet");
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

// --- Teams ---

TEST_F(AttachServerTest, TwoClientsReduceInSharedMemory) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  constexpr uint64_t kCount = 1000;
  for (uint64_t i = 0; i < kCount; ++i) {
    reinterpret_cast<uint64_t*>(a->data())[i] = i;
    reinterpret_cast<uint64_t*>(b->data())[i] = 10 * i;
  }
  ring::DqSlot slot = AllreduceSlot(first, kCount, 5);
  slot.receive.offset = 64 * 1024;
  a->Post(slot);
  slot.entry.team = second;
  slot.entry.value = 6;
  b->Post(slot);
  for (RawClient* client : {a.get(), b.get()}) {
    const auto event = client->AwaitEvent();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->status, 0) << client->Text(*event);
    EXPECT_EQ(event->value, client == a.get() ? 5u : 6u);
    for (uint64_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(reinterpret_cast<uint64_t*>(client->data() + slot.receive.offset)[i], 11 * i);
    }
  }
}

TEST_F(AttachServerTest, InlineContributionsAreReadOnce) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  ring::DqSlot slot = AllreduceSlot(first, 1, 0);
  slot.entry.flags = ring::kSendInline;
  slot.entry.payload[0] = 3;
  a->Post(slot);
  daemon_->Turn();
  slot.entry.team = second;
  slot.entry.payload[0] = 4;
  b->Post(slot);
  ASSERT_TRUE(a->AwaitEvent().has_value());
  ASSERT_TRUE(b->AwaitEvent().has_value());
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(a->data()), 7u);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(b->data()), 7u);
}

TEST_F(AttachServerTest, BadTeamsAreRefusedWithAReason) {
  const auto client = Attached();
  const auto ask = [&](uint32_t rank, uint32_t size, double timeout_s, uint32_t parent) {
    auto create = NewMessage<attach::TeamCreate>(MessageType::kTeamCreate, 9);
    create.rank = rank;
    create.size = size;
    create.timeout_s = timeout_s;
    create.parent = parent;
    client->Send(create);
    const attach::TeamReady ready = client->AwaitTeam();
    EXPECT_EQ(ready.head.request, 9u);
    EXPECT_EQ(ready.status, kInvalidArgument);
    return std::string(ready.text);
  };
  EXPECT_EQ(ask(2, 2, 0, 0), "team: rank beyond its size (rank=2, size=2)");
  EXPECT_EQ(ask(0, 0, 0, 0), "team: rank beyond its size (rank=0, size=0)");
  EXPECT_EQ(ask(0, 1, 0, 5), "team: no such parent (handle=5)");
  EXPECT_EQ(ask(0, 1, -1, 0), "team: impossible time-out (timeout_s=-1)");
  auto create = NewMessage<attach::TeamCreate>(MessageType::kTeamCreate, 9);
  create.size = 1;
  memset(create.name, 7, sizeof(create.name));
  client->Send(create);
  EXPECT_EQ(client->AwaitTeam().status, kInvalidArgument);
}

TEST_F(AttachServerTest, ATeamThatIsNotFormedInTimeFails) {
  const auto client = Attached();
  client->AskTeam(3, "lonely", 0, 2, 0.01);
  const attach::TeamReady ready = client->AwaitTeam();
  EXPECT_EQ(ready.status, kTimedOut);
  EXPECT_EQ(ready.head.request, 3u);
  EXPECT_STRNE(ready.text, "");
}

TEST_F(AttachServerTest, ATeamThatNobodyFormsFailsToo) {
  Start({.formation_timeout = absl::Milliseconds(5)});
  const auto client = Attached();
  client->AskTeam(3, "lonely", 0, 2);
  EXPECT_EQ(client->AwaitTeam().status, kTimedOut);
}

TEST_F(AttachServerTest, UnansweredRequestsAreBounded) {
  Start({.requests_max = 3});
  const auto client = Attached();
  for (uint64_t i = 0; i < 4; ++i) client->AskTeam(i, absl::StrCat("team", i), 0, 2);
  const attach::TeamReady ready = client->AwaitTeam();
  EXPECT_EQ(ready.head.request, 3u);
  EXPECT_EQ(ready.status, kNoResource);
}

TEST_F(AttachServerTest, DestroysATeam) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 8);
  destroy.handle = first;
  a->Send(destroy);
  auto done = a->Receive<attach::Done>(MessageType::kDone);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, 0) << done->text;
  EXPECT_EQ(done->head.request, 8u);
  a->Send(destroy);
  done = a->Receive<attach::Done>(MessageType::kDone);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, kInvalidArgument);
}

TEST_F(AttachServerTest, ATeamWithCallsInFlightCannotBeDestroyedAndGoesOn) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  a->Post(AllreduceSlot(first, 1, 1));
  daemon_->Turn();
  auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 8);
  destroy.handle = first;
  a->Send(destroy);
  const auto done = a->Receive<attach::Done>(MessageType::kDone);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, kInvalidArgument);
  b->Post(AllreduceSlot(second, 1, 2));
  EXPECT_EQ(a->AwaitEvent()->status, 0);
  a->Post(AllreduceSlot(first, 1, 3));
  b->Post(AllreduceSlot(second, 1, 4));
  EXPECT_EQ(a->AwaitEvent()->status, 0);
}

// --- Ends ---

TEST_F(AttachServerTest, AClientThatTookLeaveBreaksNothing) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  auto destroy = NewMessage<attach::TeamDestroy>(MessageType::kTeamDestroy, 8);
  destroy.handle = first;
  a->Send(destroy);
  a->Close();  // does not even wait for the answer
  ASSERT_TRUE(daemon_->TurnUntil([&] { return daemon_->server().client_count() == 1; }));
  b->Post(AllreduceSlot(second, 1, 2));
  for (int i = 0; i < 100; ++i) daemon_->Turn();
  EXPECT_FALSE(b->TryEvent().has_value());  // waits, as rank 0 may only be late
}

TEST_F(AttachServerTest, AClientThatClosesWithALiveTeamBreaksIt) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  b->Post(AllreduceSlot(second, 1, 2));
  a->Close();
  const auto event = b->AwaitEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->status, kMemberLost);
  EXPECT_TRUE(absl::StrContains(b->Text(*event), "rank 0 on node n1 lost: process")) << b->Text(*event);
  EXPECT_TRUE(absl::StrContains(b->Text(*event), "closed its connection")) << b->Text(*event);
}

TEST_F(AttachServerTest, ADrainIsToldAndAShutdownClosesPorts) {
  const auto client = Attached();
  daemon_->core().StartDrain("maintenance");
  const auto closing = client->Receive<attach::Closing>(MessageType::kClosing);
  ASSERT_TRUE(closing.has_value());
  EXPECT_STREQ(closing->text, "maintenance");
  daemon_->server().Shutdown("the daemon stops");
  ExpectDropped(client.get(), "the daemon stops");
  EXPECT_EQ(client->header()->closed.load(), 1u);
  RawClient late = Connect();
  EXPECT_FALSE(late.Send(RawClient::Request()));
}

// --- Rings ---

TEST_F(AttachServerTest, BadCallsAreAnsweredByAnEvent) {
  const auto a = Attached();
  const auto b = Attached();
  const auto [first, second] = Team(a.get(), b.get());
  ring::DqSlot command = AllreduceSlot(first, 1, 1);
  command.entry.command = 9;
  ring::DqSlot team = AllreduceSlot(77, 1, 2);
  ring::DqSlot beyond = AllreduceSlot(first, 8192, 3);
  beyond.receive.offset = 1 << 20;
  ring::DqSlot region = AllreduceSlot(first, 1, 4);
  region.entry.send.region = 5;
  ring::DqSlot op = AllreduceSlot(first, 1, 5);
  op.entry.type = static_cast<uint8_t>(emu::AluType::kDouble);
  op.entry.op = static_cast<uint8_t>(emu::AluOp::kBand);
  uint64_t value = 0;
  for (const ring::DqSlot& slot : {command, team, beyond, region, op}) {
    a->Post(slot);
    const auto event = a->AwaitEvent();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->value, ++value);
    EXPECT_EQ(event->status, kInvalidArgument);
    EXPECT_NE(a->Text(*event), "");
  }
  EXPECT_TRUE(AnswersNop(a.get()));
}

TEST_F(AttachServerTest, AnImpossibleTailDropsTheClient) {
  const auto other = Attached();
  const auto client = Attached();
  client->header()->dq_tail.store(257);
  ExpectDropped(client.get(), "descriptor queue: impossible tail (tail=257, head=0, limit=256)");
  EXPECT_TRUE(AnswersNop(other.get()));
}

TEST_F(AttachServerTest, AnImpossibleEventHeadDropsTheClient) {
  const auto client = Attached();
  client->header()->eq_head.store(5);
  client->PostNop(1);
  ExpectDropped(client.get(), "event queue: impossible head");
}

TEST_F(AttachServerTest, EntriesWaitForRoomInTheEventQueue) {
  attach::AttachRequest request = RawClient::Request();
  request.dq_entries = 64;
  request.eq_entries = 4;
  RawClient client = Connect();
  ASSERT_EQ(client.Attach(request).status, 0);
  for (uint64_t i = 0; i < 64; ++i) client.PostNop(i);
  for (int i = 0; i < 100; ++i) daemon_->Turn();
  EXPECT_EQ(client.header()->eq_tail.load(), 4u);
  EXPECT_EQ(client.header()->dq_head.load(), 4u);
  for (uint64_t i = 0; i < 64; ++i) {
    const auto event = client.AwaitEvent();
    ASSERT_TRUE(event.has_value());
    EXPECT_EQ(event->value, i);
  }
}

TEST_F(AttachServerTest, AGreedyClientDoesNotHoldUpAnother) {
  const auto greedy = Attached();
  const auto other = Attached();
  for (uint64_t i = 0; i < 256; ++i) greedy->PostNop(i);
  other->PostNop(1);
  daemon_->Turn();
  daemon_->Turn();
  EXPECT_TRUE(other->TryEvent().has_value());
  EXPECT_LE(greedy->header()->eq_tail.load(), 2 * kPostsPerTurn);
}

TEST_F(AttachServerTest, TheDoorbellWakesASleepingDaemon) {
  const auto client = Attached();
  while (daemon_->poller().Wait(absl::ZeroDuration())) {
  }
  daemon_->page().SetSleeping(true);
  client->PostNop(1);
  EXPECT_TRUE(daemon_->poller().Wait(absl::Seconds(10)));
  daemon_->page().SetSleeping(false);
  client->PostNop(2);
  EXPECT_FALSE(daemon_->poller().Wait(absl::ZeroDuration()));
}

// --- Memory ---

class MemoryTest : public AttachServerTest {
 protected:
  void SetUp() override { client_ = Attached(); }
  attach::MemoryRegistered Register(const UniqueFd& memory, uint64_t bytes) {
    auto message = NewMessage<attach::RegisterMemory>(MessageType::kRegisterMemory, 5);
    message.bytes = bytes;
    EXPECT_TRUE(client_->Send(message, {memory.get()}));
    const auto answer = client_->Receive<attach::MemoryRegistered>(MessageType::kMemoryRegistered);
    EXPECT_TRUE(answer.has_value());
    return answer.has_value() ? *answer : attach::MemoryRegistered{};
  }
  void Deregister(uint32_t region, uint64_t request) {
    auto message = NewMessage<attach::DeregisterMemory>(MessageType::kDeregisterMemory, request);
    message.region = region;
    EXPECT_TRUE(client_->Send(message));
  }

  std::unique_ptr<RawClient> client_;
};

TEST_F(MemoryTest, WrongKindsAreRefusedAndTheClientGoesOn) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  const UniqueFd unsealed(memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(unsealed.get(), 4096), 0);
  const UniqueFd device(open("/dev/zero", O_RDWR | O_CLOEXEC));
  const UniqueFd binary(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  for (const UniqueFd* fd : {&reader, &unsealed, &device, &binary}) {
    const attach::MemoryRegistered answer = Register(*fd, 4096);
    EXPECT_EQ(answer.status, kInvalidArgument);
    EXPECT_EQ(answer.head.request, 5u);
    EXPECT_TRUE(absl::StartsWith(answer.text, "memory: ")) << answer.text;
  }
  EXPECT_EQ(Register(*CreateMemoryFile("short", 4096), 8192).status, kInvalidArgument);
  EXPECT_EQ(Register(*CreateMemoryFile("zero", 4096), 0).status, kInvalidArgument);
  EXPECT_TRUE(AnswersNop(client_.get()));
}

TEST_F(MemoryTest, CallsUseItAndADeregistrationWaitsForThem) {
  const auto other = Attached();
  const auto [first, second] = Team(client_.get(), other.get());
  const UniqueFd memory = *CreateMemoryFile("buffer", 1 << 20);
  const Mapping mine = *Mapping::Map(memory.get(), 1 << 20);
  const attach::MemoryRegistered answer = Register(memory, 1 << 20);
  ASSERT_EQ(answer.status, 0) << answer.text;
  reinterpret_cast<uint64_t*>(mine.data())[0] = 40;
  ring::DqSlot slot = AllreduceSlot(first, 1, 1);
  slot.entry.send = {answer.region, 0, 0};
  slot.receive = {answer.region, 0, 4096};
  client_->Post(slot);
  daemon_->Turn();
  Deregister(answer.region, 6);
  for (int i = 0; i < 100; ++i) daemon_->Turn();
  slot.entry.value = 2;
  client_->Post(slot);  // too late to name it
  const auto refused = client_->AwaitEvent();
  ASSERT_TRUE(refused.has_value());
  EXPECT_EQ(refused->value, 2u);
  EXPECT_EQ(refused->status, kInvalidArgument);

  *reinterpret_cast<uint64_t*>(other->data()) = 2;
  other->Post(AllreduceSlot(second, 1, 1));
  const auto event = client_->AwaitEvent();
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->status, 0);
  EXPECT_EQ(*reinterpret_cast<uint64_t*>(mine.data() + 4096), 42u);
  const auto done = client_->Receive<attach::Done>(MessageType::kDone);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->head.request, 6u);
  EXPECT_EQ(done->status, 0);
}

TEST_F(MemoryTest, HolesPunchedIntoItHarmNobody) {
  const auto other = Attached();
  const auto [first, second] = Team(client_.get(), other.get());
  const UniqueFd memory = *CreateMemoryFile("buffer", 1 << 20);
  const attach::MemoryRegistered answer = Register(memory, 1 << 20);
  ASSERT_EQ(fallocate(memory.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 1 << 20), 0);
  ring::DqSlot slot = AllreduceSlot(first, 8192, 1);
  slot.entry.send = {answer.region, 0, 0};
  slot.receive = {answer.region, 0, 1 << 19};
  client_->Post(slot);
  other->Post(AllreduceSlot(second, 8192, 1));
  EXPECT_EQ(client_->AwaitEvent()->status, 0);
}

TEST_F(MemoryTest, UnknownRegionsCannotBeDeregistered) {
  Deregister(9, 7);
  const auto done = client_->Receive<attach::Done>(MessageType::kDone);
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->status, kInvalidArgument);
  EXPECT_EQ(done->head.request, 7u);
}

}  // namespace
}  // namespace copse::daemon
