// SPDX-License-Identifier: Apache-2.0
//
// Attaching to a daemon, to a daemon that gives wrong answers, and to one that goes away.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/testing/status_matchers.h"
#include "client/copse.h"
#include "client/testing/fake_cluster.h"
#include "client/testing/fake_daemon.h"

namespace copse::client {
namespace {

using copse::testing::Names;

copse_status_t InitAt(const std::string& place, copse_context_t** context) {
  copse_init_params_t params{.mask = COPSE_INIT_PARAM_FIELD_SOCKET, .socket = place.c_str()};
  return copse_init(&params, context);
}

// Sets a variable until the end of the scope.
class ScopedEnv {
 public:
  ScopedEnv(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~ScopedEnv() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(AttachTest, AttributesAreTheDaemons) {
  FakeDaemon daemon;
  copse_init_params_t params{.mask = COPSE_INIT_PARAM_FIELD_SOCKET | COPSE_INIT_PARAM_FIELD_JOB |
                                     COPSE_INIT_PARAM_FIELD_DQ_ENTRIES | COPSE_INIT_PARAM_FIELD_EQ_ENTRIES |
                                     COPSE_INIT_PARAM_FIELD_DATA_BYTES,
                             .socket = daemon.socket().c_str(),
                             .job = "job-7",
                             .dq_entries = 4,
                             .eq_entries = 8,
                             .data_bytes = 8192};
  copse_context_t* context = nullptr;
  ASSERT_EQ(copse_init(&params, &context), COPSE_OK) << copse_last_error();
  copse_context_attr_t attr{};
  attr.mask = COPSE_CONTEXT_ATTR_FIELD_NODE | COPSE_CONTEXT_ATTR_FIELD_INCARNATION |
              COPSE_CONTEXT_ATTR_FIELD_MESSAGE_BYTES_MAX | COPSE_CONTEXT_ATTR_FIELD_DQ_ENTRIES |
              COPSE_CONTEXT_ATTR_FIELD_EQ_ENTRIES | COPSE_CONTEXT_ATTR_FIELD_DATA_BYTES;
  ASSERT_EQ(copse_context_get_attr(context, &attr), COPSE_OK);
  EXPECT_STREQ(attr.node, "fake");
  EXPECT_EQ(attr.incarnation, 42u);
  EXPECT_EQ(attr.message_bytes_max, 65536u);
  EXPECT_EQ(attr.dq_entries, 4u);
  EXPECT_EQ(attr.eq_entries, 8u);
  EXPECT_EQ(attr.data_bytes, 8192u);
  EXPECT_EQ(daemon.last_job(), "job-7");
  attr.mask = 0;
  attr.dq_entries = 99;
  ASSERT_EQ(copse_context_get_attr(context, &attr), COPSE_OK);
  EXPECT_EQ(attr.dq_entries, 99u);  // not asked for
  attr.mask = 1 << 20;
  EXPECT_EQ(copse_context_get_attr(context, &attr), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_context_get_attr(context, nullptr), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_EQ(copse_fini(context), COPSE_OK);
}

TEST(AttachTest, TheEnvironmentNamesSocketAndJob) {
  FakeDaemon daemon;
  ScopedEnv socket("COPSE_SOCKET", daemon.socket());
  copse_context_t* context = nullptr;
  {
    ScopedEnv slurm("SLURM_JOB_ID", "4711");
    ASSERT_EQ(copse_init(nullptr, &context), COPSE_OK) << copse_last_error();
    EXPECT_EQ(daemon.last_job(), "4711");
    EXPECT_EQ(copse_fini(context), COPSE_OK);
    ScopedEnv own("COPSE_JOB", "mine");
    ASSERT_EQ(copse_init(nullptr, &context), COPSE_OK) << copse_last_error();
    EXPECT_EQ(daemon.last_job(), "mine");
    EXPECT_EQ(copse_fini(context), COPSE_OK);
  }
  ScopedEnv too_long("COPSE_JOB", std::string(64, 'j'));
  EXPECT_EQ(copse_init(nullptr, &context), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("bytes=64", "limit=63"));
}

TEST(AttachTest, WrongParametersAreRefused) {
  copse_context_t* context = nullptr;
  copse_init_params_t params{};
  params.mask = 1 << 12;
  EXPECT_EQ(copse_init(&params, &context), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("copse_init_params_t", "mask=0x1000", "known=0x1f"));
  params.mask = COPSE_INIT_PARAM_FIELD_SOCKET;
  EXPECT_EQ(copse_init(&params, &context), COPSE_ERR_INVALID_ARGUMENT);
  params.mask = COPSE_INIT_PARAM_FIELD_JOB;
  EXPECT_EQ(copse_init(&params, &context), COPSE_ERR_INVALID_ARGUMENT);
  params.mask = COPSE_INIT_PARAM_FIELD_DQ_ENTRIES;
  params.dq_entries = 12;
  EXPECT_EQ(copse_init(&params, &context), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("dq_entries=12"));
  params.mask = COPSE_INIT_PARAM_FIELD_EQ_ENTRIES;
  params.eq_entries = 0;
  EXPECT_EQ(copse_init(&params, &context), COPSE_ERR_INVALID_ARGUMENT);
}

TEST(AttachTest, NoDaemonNamesThePlacesTried) {
  copse_context_t* context = nullptr;
  EXPECT_EQ(InitAt("/nonexistent/%h.sock", &context), COPSE_ERR_NO_DAEMON);
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  EXPECT_THAT(copse_last_error(), Names("tried=/nonexistent/" + std::string(host) + ".sock: "));
  EXPECT_EQ(InitAt("@copse-nobody-listens-here", &context), COPSE_ERR_NO_DAEMON);
  EXPECT_THAT(copse_last_error(), Names("tried=@copse-nobody-listens-here"));
  EXPECT_EQ(InitAt("/" + std::string(200, 'x'), &context), COPSE_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(copse_last_error(), Names("bytes=201", "limit=107"));
  EXPECT_EQ(context, nullptr);
}

// --- Wrong answers ---

struct WrongAnswer {
  const char* name;
  std::function<void(FakeDaemon::Options*)> change;
  copse_status_t status;
  const char* thing;  // that the error names
};

class WrongAnswerTest : public ::testing::TestWithParam<WrongAnswer> {};

TEST_P(WrongAnswerTest, IsAnErrorThatNamesIt) {
  FakeDaemon::Options options;
  GetParam().change(&options);
  FakeDaemon daemon(options);
  copse_context_t* context = nullptr;
  EXPECT_EQ(InitOn(daemon, &context), GetParam().status);
  EXPECT_THAT(copse_last_error(), Names(GetParam().thing));
  EXPECT_EQ(context, nullptr);
}

template <typename Change>
WrongAnswer Header(const char* name, Change change, const char* thing = "mapped_bytes=") {
  return {name,
          [change](FakeDaemon::Options* options) {
            options->tamper = [change](attach::AttachReply*, ring::PortHeader* header) { change(header); };
          },
          COPSE_ERR_INTERNAL, thing};
}

template <typename Change>
WrongAnswer Reply(const char* name, copse_status_t status, const char* thing, Change change) {
  return {name,
          [change](FakeDaemon::Options* options) {
            options->tamper = [change](attach::AttachReply* reply, ring::PortHeader*) { change(reply); };
          },
          status, thing};
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongAnswerTest,
    ::testing::Values(
        Reply("Version", COPSE_ERR_VERSION, "library=1, daemon=3", [](auto* reply) { reply->ring_version = 3; }),
        Reply("RefusedVersion", COPSE_ERR_VERSION, "library=1, daemon=7",
              [](auto* reply) {
                reply->ring_version = 7;
                reply->status = COPSE_ERR_VERSION;
              }),
        Reply("Refused", COPSE_ERR_NO_RESOURCE, "too many clients (clients=9, limit=9)",
              [](auto* reply) {
                reply->status = COPSE_ERR_NO_RESOURCE;
                snprintf(reply->text, sizeof(reply->text), "too many clients (clients=9, limit=9)");
              }),
        Reply("UnknownStatus", COPSE_ERR_INTERNAL, "node=fake", [](auto* reply) { reply->status = 5; }),
        Reply("UnterminatedTexts", COPSE_ERR_PERMISSION, "(node=",
              [](auto* reply) {
                reply->status = COPSE_ERR_PERMISSION;
                memset(reply->text, 'x', sizeof(reply->text));
                memset(reply->node, 'n', sizeof(reply->node));
              }),
        Reply("PortOfAnotherVersion", COPSE_ERR_VERSION, "port=1, daemon=2",
              [](auto* reply) { reply->ring_version = 2; }),
        Reply("OtherQueue", COPSE_ERR_INTERNAL, "mapped_bytes=", [](auto* reply) { reply->dq_entries *= 2; }),
        Reply("OtherData", COPSE_ERR_INTERNAL, "mapped_bytes=", [](auto* reply) { reply->data_bytes -= 1; }),
        Header(
            "Magic", [](auto* header) { header->magic = 0x12345678; }, "magic=0x12345678"),
        Header("NotAPowerOfTwo", [](auto* header) { header->dq_entries = 12; }),
        Header("NoEntries", [](auto* header) { header->eq_entries = 0; }),
        Header("HugeQueue", [](auto* header) { header->eq_entries = 1u << 31; }),
        Header("LargerThanTheFile", [](auto* header) { header->total_bytes *= 2; }),
        Header("DataBehindTheEnd", [](auto* header) { header->data_offset = header->total_bytes; }),
        Header("DataOffsetWraps", [](auto* header) { header->data_offset = UINT64_MAX - 4095; }),
        Header("DataBytesWrap", [](auto* header) { header->data_bytes = UINT64_MAX - 4095; }),
        Header("UnalignedData", [](auto* header) { header->data_offset += 8; }),
        Header("QueueInHeader", [](auto* header) { header->dq_offset = 64; }),
        Header("UnalignedQueue", [](auto* header) { header->dq_offset += 4; }),
        Header("QueuesOverlap", [](auto* header) { header->eq_offset = header->dq_offset; }),
        Header("TextsOverlap", [](auto* header) { header->text_offset = header->eq_offset; }),
        Header("TextsReachData", [](auto* header) { header->text_offset = header->data_offset - 64; }),
        WrongAnswer{"NoDescriptors", [](FakeDaemon::Options* options) { options->descriptors = 0; }, COPSE_ERR_INTERNAL,
                    "port_bytes="},
        WrongAnswer{"NoDoorbell", [](FakeDaemon::Options* options) { options->descriptors = 2; }, COPSE_ERR_INTERNAL,
                    "port_bytes="}),
    [](const ::testing::TestParamInfo<WrongAnswer>& info) { return info.param.name; });

TEST(AttachTest, OneVersionApartIsAccepted) {
  FakeDaemon::Options options;
  options.tamper = [](attach::AttachReply* reply, ring::PortHeader* header) {
    reply->ring_version = header->ring_version = 2;
  };
  FakeDaemon daemon(options);
  copse_context_t* context = nullptr;
  EXPECT_EQ(InitOn(daemon, &context), COPSE_OK) << copse_last_error();
  EXPECT_EQ(copse_fini(context), COPSE_OK);
}

// A server that accepts, does `answer` once to a request, and closes.
class OneShotServer {
 public:
  explicit OneShotServer(std::function<void(int)> answer) {
    static int number = 0;
    name_ = "@copse-one-shot-" + std::to_string(getpid()) + "-" + std::to_string(++number);
    listener_ = ListenAt(name_, 0);
    thread_ = std::thread([this, answer = std::move(answer)] {
      const FileDescriptor client(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      char request[attach::kMessageBytesMax];
      EXPECT_GT(recv(client.get(), request, sizeof(request), 0), 0);
      answer(client.get());
    });
  }
  ~OneShotServer() { thread_.join(); }
  const std::string& name() const { return name_; }

 private:
  std::string name_;
  FileDescriptor listener_;
  std::thread thread_;
};

TEST(AttachTest, AServerThatClosesOrTalksNonsenseIsNoDaemon) {
  copse_context_t* context = nullptr;
  {
    OneShotServer server([](int) {});
    EXPECT_EQ(InitAt(server.name(), &context), COPSE_ERR_NO_DAEMON);
    EXPECT_THAT(copse_last_error(), Names("node=" + server.name()));
  }
  {
    OneShotServer server([](int client) { send(client, "hello, world", 12, MSG_NOSIGNAL); });
    EXPECT_EQ(InitAt(server.name(), &context), COPSE_ERR_NO_DAEMON);
  }
  {
    OneShotServer server([](int client) {
      attach::Closing closing{};
      closing.head = {attach::kMagic, static_cast<uint32_t>(attach::MessageType::kClosing), 0};
      snprintf(closing.text, sizeof(closing.text), "it drains");
      send(client, &closing, sizeof(closing), MSG_NOSIGNAL);
    });
    EXPECT_EQ(InitAt(server.name(), &context), COPSE_ERR_NO_DAEMON);
    EXPECT_THAT(copse_last_error(), Names("it drains"));
  }
  {
    OneShotServer server([](int client) {  // a reply that stops after its first fields
      attach::AttachReply reply{};
      reply.head = {attach::kMagic, static_cast<uint32_t>(attach::MessageType::kAttachReply), 1};
      reply.ring_version = 1;
      send(client, &reply, offsetof(attach::AttachReply, incarnation), MSG_NOSIGNAL);
    });
    EXPECT_EQ(InitAt(server.name(), &context), COPSE_ERR_INTERNAL);
    EXPECT_THAT(copse_last_error(), Names("bytes=24", "expected=472"));
  }
}

// --- The daemon goes away ---

using DeathTest = SoloTest;

TEST_F(DeathTest, EndsAWaitInABoundedTime) {
  copse_request_t* request = HeldBarrier();
  EXPECT_EQ(copse_wait(request, 0.02), COPSE_ERR_TIMED_OUT);
  daemon_.Kill();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_NO_DAEMON);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
  EXPECT_THAT(copse_last_error(), Names("barrier", "team solo", "node=fake", "calls_in_flight=1"));
  EXPECT_EQ(copse_test(request), COPSE_ERR_NO_DAEMON);
  EXPECT_EQ(copse_post(request), COPSE_ERR_NO_DAEMON);
  EXPECT_EQ(copse_barrier(team_), COPSE_ERR_NO_DAEMON);
  EXPECT_EQ(copse_ping(context_, -1), COPSE_ERR_NO_DAEMON);
  void* memory = nullptr;
  EXPECT_EQ(copse_alloc(context_, 64, &memory), COPSE_ERR_NO_DAEMON);
  copse_team_t* team = nullptr;
  EXPECT_EQ(CreateNamed(context_, "late", 0, 1, &team), COPSE_ERR_NO_DAEMON);
  EXPECT_THAT(copse_last_error(), Names("node=fake"));
  EXPECT_EQ(copse_finalize(request), COPSE_OK);
  EXPECT_EQ(copse_team_destroy(team_), COPSE_OK);
}

TEST_F(DeathTest, IsNoticedByOneWhoOnlyTests) {
  copse_request_t* request = HeldBarrier();
  daemon_.Kill();
  copse_status_t status;
  while ((status = copse_test(request)) == COPSE_INPROGRESS) std::this_thread::yield();
  EXPECT_EQ(status, COPSE_ERR_NO_DAEMON);
}

TEST_F(DeathTest, EndsAllThreadsThatWait) {
  daemon_.HoldCalls(true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { EXPECT_EQ(copse_wait(PostedBarrier(), -1), COPSE_ERR_NO_DAEMON); });
  }
  threads.emplace_back([&] {
    copse_team_t* team = nullptr;
    EXPECT_EQ(CreateNamed(context_, "pair", 0, 2, &team), COPSE_ERR_NO_DAEMON);
  });
  daemon_.Kill();
  for (std::thread& thread : threads) thread.join();
}

TEST_F(DeathTest, ADaemonThatClosesSaysWhy) {
  copse_request_t* request = HeldBarrier();
  daemon_.Close("it is being upgraded");
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_NO_DAEMON);
  EXPECT_THAT(copse_last_error(), Names("it is being upgraded"));
}

TEST_F(DeathTest, WhatWasCompletedBeforeCounts) {
  copse_request_t* request = PostedBarrier();
  while (daemon_.calls_completed() == 0) std::this_thread::yield();
  daemon_.Close("bye");
  EXPECT_EQ(copse_wait(request, -1), COPSE_OK) << copse_last_error();
}

TEST_F(DeathTest, GarbageOnTheSocketEndsTheAttachment) {
  copse_request_t* request = HeldBarrier();
  daemon_.SendGarbage();
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_NO_DAEMON);
}

TEST_F(DeathTest, AnImpossibleEventIndexEndsTheAttachment) {
  copse_request_t* request = HeldBarrier();
  daemon_.SetEventTail(1000);
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_INTERNAL);
  EXPECT_THAT(copse_last_error(), Names("node=fake"));
  EXPECT_EQ(copse_barrier(team_), COPSE_ERR_INTERNAL);
}

TEST_F(DeathTest, AnEventIndexThatRunsBackEndsTheAttachment) {
  EXPECT_EQ(copse_barrier(team_), COPSE_OK);
  copse_request_t* request = HeldBarrier();
  daemon_.SetEventTail(0);
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_INTERNAL);
}

TEST_F(DeathTest, StrayEventsAreIgnored) {
  for (const uint64_t value : {uint64_t{0}, uint64_t{31}, uint64_t{32}, UINT64_MAX, uint64_t{9} << 32}) {
    daemon_.PostEvent({value, 1, COPSE_ERR_MEMBER_LOST, 3, 0});
  }
  EXPECT_EQ(copse_barrier(team_), COPSE_OK) << copse_last_error();
}

TEST_F(DeathTest, AnEventWithAnImpossibleTextHasNone) {
  copse_request_t* request = HeldBarrier();
  daemon_.PostEvent({uint64_t{1} << 32, 1, COPSE_ERR_MEMBER_LOST, ring::kTextCount, 0});  // the first call's value
  EXPECT_EQ(copse_wait(request, -1), COPSE_ERR_MEMBER_LOST);
  EXPECT_THAT(copse_last_error(), Names("barrier", "team solo", "COPSE_ERR_MEMBER_LOST"));
}

}  // namespace
}  // namespace copse::client
