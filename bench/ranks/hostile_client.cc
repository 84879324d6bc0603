// SPDX-License-Identifier: Apache-2.0
//
// A process of another user, which takes what it can of a daemon: hostile_client MODE [ARGUMENT]. Says `ready` when its
// attack is under way, and goes on until it is killed.
//
//   quotas         takes clients, memory of clients, teams and memory of teams until each is refused; then gives some
//                  back and takes it again, without end
//   futexes        wakes and requeues whatever sleeps on the words of the daemon's page
//   statuses N     asks the daemon for its status, N times at once
//   connections    connects and hangs up, of which each makes lines of the log
//   rings N        rings N clients' doorbells for nothing
//   computes PART  is harmless: computes for that part of the time
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/ranks/become_user.h"
#include "daemon/shm/testing/raw_client.h"
#include "proto/copse/v1/admin.pb.h"
#include "proto/copse/v1/node_admin_service.grpc.pb.h"

namespace copse::bench {
namespace {

using daemon::RawClient;

constexpr uid_t kUser = 65534;
constexpr char kSocket[] = "@copse";
constexpr char kAdminAddress[] = "127.0.0.1:7471";
constexpr uint64_t kWholeDataArea = 64 << 20;
constexpr int kRequestsOfAClient = 64;

[[noreturn]] void Fail(const std::string& what) {
  fprintf(stderr, "hostile_client: %s\n", what.c_str());
  _exit(1);
}

void SayReady() {
  printf("ready\n");
  fflush(stdout);
}

void BecomeAnotherUser() {
  const rlimit descriptors = {20'000, 20'000};
  setrlimit(RLIMIT_NOFILE, &descriptors);
  become_user(kUser);
}

// --- What clients share ---

// Returns null if the daemon refuses.
std::unique_ptr<RawClient> Attach(uint64_t data_bytes = 0) {
  auto client = std::make_unique<RawClient>(kSocket, [] { sched_yield(); });
  auto request = RawClient::Request();
  request.data_bytes = data_bytes;
  if (!client->connected() || client->Attach(request).status != 0) return nullptr;
  return client;
}

std::unique_ptr<RawClient> MustAttach() {
  auto client = Attach();
  if (client == nullptr) Fail("cannot attach");
  return client;
}

class Quotas {
 public:
  // Takes everything, from what is refused last to what is refused first.
  void Take() {
    while (TakeTeam()) continue;
    while (TakeClient(kWholeDataArea)) continue;
    while (TakeClient(0)) continue;
    for (const auto& client : clients_) AskForTeamsThatNeverForm(client.get());
  }

  // The oldest goes, and with it its teams.
  void Renew() {
    clients_.pop_front();
    if (!TakeTeam() && !TakeClient(0)) return;
    AskForTeamsThatNeverForm(clients_.back().get());
  }

 private:
  bool TakeClient(uint64_t data_bytes) {
    auto client = Attach(data_bytes);
    if (client == nullptr) return false;
    clients_.push_back(std::move(client));
    return true;
  }

  // A client with a team that takes memory for messages in transit.
  bool TakeTeam() {
    if (!TakeClient(0)) return false;
    clients_.back()->AskTeam(1, absl::StrCat("own", teams_++), 0, 1);
    return clients_.back()->AwaitTeam().status == 0;
  }

  void AskForTeamsThatNeverForm(RawClient* client) {
    for (int i = 0; i < kRequestsOfAClient; ++i) client->AskTeam(2 + i, absl::StrCat("never", teams_++), 0, 2);
  }

  std::deque<std::unique_ptr<RawClient>> clients_;
  uint64_t teams_ = 0;
};

// --- Modes ---

[[noreturn]] void TakeQuotas() {
  Quotas quotas;
  quotas.Take();
  SayReady();
  for (;;) quotas.Renew();
}

[[noreturn]] void MeddleWithFutexes() {
  const auto client = MustAttach();
  uint32_t own = 0;
  SayReady();
  for (;;) {
    for (const ring::WakeWord& word : client->page()->wake) {
      syscall(SYS_futex, &word.value, FUTEX_REQUEUE, 0, INT32_MAX, &own, 0);
      syscall(SYS_futex, &word.value, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
    }
  }
}

// One of the questions that are asked at once. Asks again when it is answered.
class Question {
 public:
  explicit Question(v1::NodeAdminService::Stub* stub) : stub_(stub) { Ask(); }

 private:
  void Ask() {
    context_ = std::make_unique<grpc::ClientContext>();
    context_->set_wait_for_ready(true);
    stub_->async()->Status(context_.get(), &request_, &answer_, [this](const grpc::Status&) { Ask(); });
  }

  v1::NodeAdminService::Stub* const stub_;
  std::unique_ptr<grpc::ClientContext> context_;
  const v1::StatusRequest request_;
  v1::StatusAnswer answer_;
};

[[noreturn]] void AskForStatuses(int count) {
  const auto stub =
      v1::NodeAdminService::NewStub(grpc::CreateChannel(kAdminAddress, grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  v1::StatusAnswer answer;
  context.set_wait_for_ready(true);
  if (const grpc::Status status = stub->Status(&context, {}, &answer); !status.ok()) Fail(status.error_message());
  std::vector<std::unique_ptr<Question>> questions;
  for (int i = 0; i < count; ++i) questions.push_back(std::make_unique<Question>(stub.get()));
  SayReady();
  for (;;) pause();
}

[[noreturn]] void Connect() {
  SayReady();
  for (;;) RawClient(kSocket, [] {});
}

[[noreturn]] void Ring(int count) {
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < count; ++i) clients.push_back(MustAttach());
  SayReady();
  for (;;) {
    for (const auto& client : clients) eventfd_write(client->doorbell(), 1);
  }
}

double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// Computes for 50 us at once, as a daemon does for a client, and sleeps when it has had its part. What others kept it
// from it takes later.
[[noreturn]] void Compute(double part) {
  constexpr double kQuantum = 50e-6;
  SayReady();
  const double begin = Seconds(CLOCK_MONOTONIC), begin_used = Seconds(CLOCK_THREAD_CPUTIME_ID);
  for (;;) {
    const double until = Seconds(CLOCK_THREAD_CPUTIME_ID) + kQuantum;
    double used = 0;
    while ((used = Seconds(CLOCK_THREAD_CPUTIME_ID)) < until) continue;
    const double ahead = (used - begin_used) / part - (Seconds(CLOCK_MONOTONIC) - begin);
    if (ahead > 0) usleep(static_cast<useconds_t>(ahead * 1e6));
  }
}

}  // namespace
}  // namespace copse::bench

int main(int argc, char** argv) {
  using namespace copse::bench;  // NOLINT: its functions alone
  const std::string_view mode = argc > 1 ? argv[1] : "";
  const double argument = argc > 2 ? atof(argv[2]) : 1;
  BecomeAnotherUser();
  if (mode == "quotas") TakeQuotas();
  if (mode == "futexes") MeddleWithFutexes();
  if (mode == "statuses") AskForStatuses(static_cast<int>(argument));
  if (mode == "connections") Connect();
  if (mode == "rings") Ring(static_cast<int>(argument));
  if (mode == "computes") Compute(argument);
  fprintf(stderr, "hostile_client: no such mode (mode=%s)\n", argc > 1 ? argv[1] : "");
  return 2;
}
