// SPDX-License-Identifier: Apache-2.0
#include "testbed/fabric/fabric.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "base/string_view.h"
#include "nlohmann/json.hpp"
#include "testbed/fabric/tap.h"

namespace copse::fabric {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kVnetHeaderBytes = sizeof(VnetHeader);
constexpr size_t kPoolBytesMax = size_t{256} << 20;
// Frames read from one TAP before the other TAPs have their turn.
constexpr int kReadsMax = 32;
// This share of each window is left to other threads: a kernel that sees them starve takes the core away for 50 ms.
constexpr int64_t kWindowNs = 5'000'000;
constexpr int64_t kOthersPercent = 6;
// The kernel's limits, should that fail: the thread loses its priority, and finally its life.
constexpr int kFifoPriority = 10;
constexpr rlim_t kRunawayUs = 300'000;
constexpr rlim_t kRunawayKillUs = 2'000'000;

std::atomic<bool> ran_away = false;

void OnRunaway(int) {
  const sched_param param = {.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &param);
  ran_away = true;
}

int64_t Read(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}
int64_t Now() { return Read(CLOCK_MONOTONIC); }

timespec Span(int64_t ns) {
  return {.tv_sec = static_cast<time_t>(ns / 1'000'000'000), .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
}

std::vector<std::string> NamesOf(const std::vector<NodeOptions>& nodes) {
  std::vector<std::string> names;
  for (const NodeOptions& node : nodes) names.push_back(node.name);
  return names;
}

Json LaneJson(const LinkCounters& counters) {
  const auto drops = [&](Drop cause) { return counters.drops[static_cast<int>(cause)]; };
  return {{"packets", counters.packets},
          {"bytes", counters.bytes},
          {"drops",
           {{"queue", drops(Drop::kQueue)},
            {"loss", drops(Drop::kLoss)},
            {"cut", drops(Drop::kCut)},
            {"no_route", drops(Drop::kNoRoute)}}},
          {"queue_bytes", counters.queue_bytes},
          {"queue_packets", counters.queue_packets},
          {"queue_bytes_high", counters.queue_bytes_high},
          {"queue_packets_high", counters.queue_packets_high}};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Fabric>> Fabric::Create(const FabricOptions& options) {
  ASSIGN_OR_RETURN(FabricFile file, ParseFabricFile(options.topology_text, options.topology_name));
  ASSIGN_OR_RETURN(Wiring wiring, Wire(file, NamesOf(options.nodes)));
  rlimit files = {};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min<rlim_t>(files.rlim_max, kNodesMax + 256);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  std::vector<UniqueFd> taps;
  for (uint32_t node = 0; node < options.nodes.size(); ++node) {
    absl::StatusOr<UniqueFd> tap =
        OpenTap(options.nodes[node].netns, node, static_cast<uint32_t>(options.nodes.size()), file.mtu);
    if (!tap.ok()) {
      return absl::Status(tap.status().code(), absl::StrCat("node ", options.nodes[node].name, ": ",
                                                            tap.status().message(), " (uid=", geteuid(), ")"));
    }
    taps.push_back(*std::move(tap));
  }
  std::unique_ptr<Fabric> fabric(new Fabric(std::move(file), std::move(wiring), std::move(taps)));
  RETURN_IF_ERROR(fabric->UpdateOffload());
  ASSIGN_OR_RETURN(fabric->control_,
                   ControlServer::Listen(options.control,
                                         [f = fabric.get()](std::string_view request) { return f->Answer(request); }));
  fabric->SetScheduling(options.realtime);
  return fabric;
}

Fabric::Fabric(FabricFile file, Wiring wiring, std::vector<UniqueFd> taps)
    : file_(std::move(file)),
      wiring_(std::move(wiring)),
      taps_(std::move(taps)),
      core_(wiring_.vertices, wiring_.switch_count, file_.seed, this),
      pool_(kVnetHeaderBytes + kFrameBytesMax, kPoolBytesMax),
      pacer_({}, Now()) {
  Clear();
}

void Fabric::SetScheduling(bool realtime) {
  if (!realtime) {
    scheduling_ = "other: as asked";
    return;
  }
  struct sigaction action = {};
  action.sa_handler = OnRunaway;
  sigaction(SIGXCPU, &action, nullptr);
  const rlimit runaway = {.rlim_cur = kRunawayUs, .rlim_max = kRunawayKillUs};
  const sched_param param = {.sched_priority = kFifoPriority};
  if (setrlimit(RLIMIT_RTTIME, &runaway) != 0) {
    scheduling_ = absl::StrCat("other: no watchdog: ", std::strerror(errno));
  } else if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &param) != 0) {
    scheduling_ = absl::StrCat("other: ", std::strerror(errno));
  } else {
    scheduling_ = "fifo";
  }
}

void Fabric::Run(int stop_signal, int stop_input) {
  const UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  CHECK(epoll.valid());
  // Nodes have their numbers as tags; these follow.
  const auto control = static_cast<uint64_t>(taps_.size());
  const uint64_t stop = control + 1;
  const auto watch = [&](int fd, uint64_t tag, uint32_t events) {
    epoll_event event = {.events = events, .data = {.u64 = tag}};
    if (fd >= 0) CHECK_EQ(epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event), 0);
  };
  for (uint32_t node = 0; node < taps_.size(); ++node) watch(taps_[node].get(), node, EPOLLIN);
  watch(control_->fd(), control, EPOLLIN);
  watch(stop_signal, stop, EPOLLIN);
  watch(stop_input, stop, 0);  // hung up

  OpenWindow();
  bool idle = true;
  while (!quit_) {
    core_.Advance(Now());
    int64_t now_ns = Now();
    if (now_ns - window_ns_ > kWindowNs) {
      RestIfBusy(now_ns);
      now_ns = Now();
    }
    const int64_t sleep_ns = pacer_.SleepNs(now_ns, core_.next_delivery_ns(), idle);
    const timespec timeout = Span(sleep_ns == kNever ? 0 : sleep_ns);
    epoll_event events[64];
    const int count = epoll_pwait2(epoll.get(), events, 64, sleep_ns == kNever ? nullptr : &timeout, nullptr);
    idle = count <= 0 && core_.next_delivery_ns() > now_ns;
    for (int i = 0; i < count; ++i) {
      const uint64_t tag = events[i].data.u64;
      if (tag < control) {
        for (int reads = 0; reads < kReadsMax && ReadTap(static_cast<uint32_t>(tag)); ++reads) {
        }
      } else if (tag == control) {
        control_->Turn();
      } else {
        quit_ = true;
      }
    }
  }
  control_->Flush();
}

bool Fabric::ReadTap(uint32_t node) {
  if (reading_ == PacketPool::kNoBuffer) reading_ = pool_.Take(kVnetHeaderBytes + kFrameBytesMax);
  uint8_t lost[kVnetHeaderBytes + kEthernetHeaderBytes];
  const bool memory = reading_ != PacketPool::kNoBuffer;
  const absl::Span<uint8_t> buffer = memory ? pool_.At(reading_) : absl::MakeSpan(lost);
  const ssize_t got = read(taps_[node].get(), buffer.data(), buffer.size());
  if (got < 0 && errno != EAGAIN && errno != EINTR) {
    taps_[node].reset();  // which also ends its registration with epoll
    ++devices_lost_;
  }
  if (got < static_cast<ssize_t>(kVnetHeaderBytes + kEthernetHeaderBytes)) return got > 0;
  const auto bytes = static_cast<size_t>(got);
  ++frames_in_;
  bytes_in_ += bytes - kVnetHeaderBytes;
  const absl::Span<const uint8_t> frame = buffer.subspan(kVnetHeaderBytes, bytes - kVnetHeaderBytes);
  if (!memory) {
    ++drops_memory_;
    return true;
  }
  if (const auto answer = AnswerArp(frame, node, core_.node_count())) {
    uint8_t out[kVnetHeaderBytes + sizeof(ArpAnswer)] = {};
    std::memcpy(out + kVnetHeaderBytes, answer->data(), answer->size());
    if (write(taps_[node].get(), out, sizeof(out)) > 0) ++arp_answers_;
    return true;
  }
  VnetHeader header;
  std::memcpy(&header, buffer.data(), sizeof(header));
  const uint32_t to = DestinationOf(frame, core_.node_count());
  const PacketShape shape = ShapeOf(header, frame);
  uint32_t packet = reading_;
  if (bytes <= PacketPool::kSmallBytes) {
    packet = pool_.Take(bytes);
    if (packet == PacketPool::kNoBuffer) {
      ++drops_memory_;
      return true;
    }
    std::memcpy(pool_.At(packet).data(), buffer.data(), bytes);
  } else {
    pool_.Resize(packet, bytes);
    reading_ = PacketPool::kNoBuffer;
  }
  core_.Send(node, to, shape, packet, Now());
  return true;
}

void Fabric::Deliver(uint32_t node, uint32_t packet, int64_t due_ns) {
  const absl::Span<const uint8_t> data = pool_.At(packet);
  lateness_ns_.Record(static_cast<uint64_t>(std::max<int64_t>(Now() - due_ns, 0)));
  if (write(taps_[node].get(), data.data(), data.size()) != static_cast<ssize_t>(data.size())) {
    ++drops_write_;
    return;
  }
  ++frames_out_;
  bytes_out_ += data.size() - kVnetHeaderBytes;
}

void Fabric::Release(uint32_t packet) { pool_.Return(packet); }

void Fabric::RestIfBusy(int64_t now_ns) {
  const int64_t elapsed_ns = now_ns - window_ns_;
  const int64_t rest_ns = elapsed_ns * kOthersPercent / 100;
  if (Read(CLOCK_THREAD_CPUTIME_ID) - window_used_ns_ > elapsed_ns - rest_ns) {
    const timespec rest = Span(std::min(rest_ns, kWindowNs));
    ppoll(nullptr, 0, &rest, nullptr);
    ++rests_;
  }
  OpenWindow();
}

void Fabric::OpenWindow() {
  window_ns_ = Now();
  window_used_ns_ = Read(CLOCK_THREAD_CPUTIME_ID);
}

absl::Status Fabric::UpdateOffload() {
  // A super-packet is lost as a whole, so kernels cut them first where packets may get lost.
  bool wanted = file_.offload;
  for (uint32_t vertex = 0; vertex < wiring_.vertices.size(); ++vertex) {
    if (core_.settings(vertex).loss > 0) wanted = false;
  }
  if (wanted == super_packets_) return absl::OkStatus();
  for (const UniqueFd& tap : taps_) {
    if (tap.valid()) RETURN_IF_ERROR(SetOffload(tap.get(), wanted));
  }
  super_packets_ = wanted;
  return absl::OkStatus();
}

std::string Fabric::Answer(std::string_view request) {
  std::string answer = "{\"ok\":true}";
  const absl::Status status = Do(request, &answer);
  if (status.ok()) return answer;
  // The client's text need not be UTF-8.
  return Json{{"error", std::string(status.message())}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

absl::Status Fabric::Do(std::string_view request, std::string* answer) {
  const std::vector<std::string> words = absl::StrSplit(AbslView(request), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  const std::string verb = words.empty() ? "" : words[0];
  const auto exactly = [&](size_t count) {
    if (words.size() == count) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(verb, ": wrong number of words (count=", words.size(), ", expected=", count, ")"));
  };
  if (verb == "stats") {
    RETURN_IF_ERROR(exactly(1));
    *answer = StatsJson();
    return absl::OkStatus();
  }
  if (verb == "clear" || verb == "quit") {
    RETURN_IF_ERROR(exactly(1));
    verb == "quit" ? void(quit_ = true) : Clear();
    return absl::OkStatus();
  }
  if (verb != "set" && verb != "cut" && verb != "heal") {
    return absl::InvalidArgumentError(
        absl::StrCat("no such request (request=", verb, ", known=set cut heal stats clear quit)"));
  }
  if (words.size() < 2) return absl::InvalidArgumentError(absl::StrCat(verb, ": no link is named"));
  const absl::StatusOr<std::vector<uint32_t>> links = wiring_.FindLinks(words[1]);
  if (!links.ok()) return absl::InvalidArgumentError(absl::StrCat(verb, ": ", links.status().message()));
  if (verb == "set") return Set(*links, {words.begin() + 2, words.end()});
  RETURN_IF_ERROR(exactly(2));
  for (const uint32_t link : *links) verb == "cut" ? core_.Cut(link, Now()) : core_.Heal(link, Now());
  return absl::OkStatus();
}

absl::Status Fabric::Set(const std::vector<uint32_t>& links, const std::vector<std::string>& settings) {
  if (settings.empty()) return absl::InvalidArgumentError("set: no setting is given (expected=KEY=VALUE)");
  std::vector<LinkSettings> changed;
  for (const uint32_t link : links) {
    changed.push_back(core_.settings(link));
    for (const std::string& setting : settings) {
      const size_t equals = setting.find('=');
      if (equals == std::string::npos) {
        return absl::InvalidArgumentError(absl::StrCat("set: must be KEY=VALUE (setting=", setting, ")"));
      }
      const absl::Status status =
          SetLinkSetting(setting.substr(0, equals), setting.substr(equals + 1), &changed.back());
      if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat("set: ", status.message()));
    }
  }
  for (size_t i = 0; i < links.size(); ++i) core_.Set(links[i], changed[i], Now());
  return UpdateOffload();
}

std::string Fabric::StatsJson() {
  core_.Advance(Now());
  const int64_t elapsed_ns = std::max<int64_t>(Now() - since_ns_, 1);
  const auto us = [&](double p) { return static_cast<double>(lateness_ns_.Percentile(p)) / 1000; };
  Json json = {
      {"scheduling", ran_away ? "other: ran away, and lost its priority" : scheduling_},
      {"elapsed_s", static_cast<double>(elapsed_ns) * 1e-9},
      {"spin_share", static_cast<double>(pacer_.spun_ns() - spun_before_ns_) / static_cast<double>(elapsed_ns)},
      {"rests", rests_},
      {"offload", super_packets_},
      {"totals",
       {{"frames_in", frames_in_},
        {"bytes_in", bytes_in_},
        {"frames_out", frames_out_},
        {"bytes_out", bytes_out_},
        {"arp_answers", arp_answers_},
        {"devices_lost", devices_lost_},
        {"drops", {{"memory", drops_memory_}, {"write", drops_write_}}}}},
      {"lateness_us",
       {{"count", lateness_ns_.count()},
        {"p50", us(0.5)},
        {"p90", us(0.9)},
        {"p99", us(0.99)},
        {"max", static_cast<double>(lateness_ns_.max()) / 1000}}},
      {"links", Json::array()}};
  for (uint32_t vertex = 0; vertex < wiring_.vertices.size(); ++vertex) {
    if (core_.is_root(vertex)) continue;
    const LinkSettings& link = core_.settings(vertex);
    json["links"].push_back({{"name", wiring_.names[vertex]},
                             {"latency_ns", link.latency_ns},
                             {"bandwidth_bps", link.bytes_per_s * 8},
                             {"jitter_ns", link.jitter_ns},
                             {"loss", link.loss},
                             {"queue_bytes_max", link.queue_bytes},
                             {"queue_packets_max", link.queue_packets},
                             {"reorder", link.reorder},
                             {"cut", core_.is_cut(vertex)},
                             {"up", LaneJson(core_.counters(vertex, Direction::kUp))},
                             {"down", LaneJson(core_.counters(vertex, Direction::kDown))}});
  }
  return json.dump();
}

void Fabric::Clear() {
  core_.ClearCounters();
  since_ns_ = Now();
  spun_before_ns_ = pacer_.spun_ns();
  frames_in_ = bytes_in_ = frames_out_ = bytes_out_ = arp_answers_ = drops_memory_ = drops_write_ = rests_ = 0;
  lateness_ns_ = Histogram();
}

}  // namespace copse::fabric
