// SPDX-License-Identifier: Apache-2.0
//
// The running fabric: TAPs on one side, the emulated network on the other, and one thread that runs the loop.
#ifndef COPSE_TESTBED_FABRIC_FABRIC_H_
#define COPSE_TESTBED_FABRIC_FABRIC_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/histogram.h"
#include "base/unique_fd.h"
#include "testbed/fabric/control_server.h"
#include "testbed/fabric/fabric_file.h"
#include "testbed/fabric/frame.h"
#include "testbed/fabric/pacer.h"
#include "testbed/fabric/packet_pool.h"
#include "testbed/fabric/switch_core.h"

namespace copse::fabric {

struct NodeOptions {
  std::string name;
  std::string netns;  // "/proc/PID/ns/net"
};

struct FabricOptions {
  std::string topology_text;
  std::string topology_name;  // for errors
  std::string control;        // Unix socket
  std::vector<NodeOptions> nodes;
  bool realtime = true;  // SCHED_FIFO, if permitted
};

// A Fabric owns a TAP in each node's namespace, which vanishes with it. One thread calls everything: Create, Run.
class Fabric final : public PacketSink {
 public:
  // Errors: INVALID_ARGUMENT for the user's input, others for refusals of the system.
  static absl::StatusOr<std::unique_ptr<Fabric>> Create(const FabricOptions& options);

  // Switches packets until `stop` is readable, or hung up, or the control socket gets "quit". `stop`: two
  // descriptors, -1 for none.
  void Run(int stop_signal, int stop_input);

 private:
  Fabric(FabricFile file, Wiring wiring, std::vector<UniqueFd> taps);

  void Deliver(uint32_t node, uint32_t packet, int64_t due_ns) override;
  void Release(uint32_t packet) override;

  void SetScheduling(bool realtime);
  // Returns false if there was nothing.
  bool ReadTap(uint32_t node);
  void RestIfBusy(int64_t now_ns);
  void OpenWindow();
  absl::Status UpdateOffload();

  std::string Answer(std::string_view request);
  absl::Status Do(std::string_view request, std::string* answer);
  absl::Status Set(const std::vector<uint32_t>& links, const std::vector<std::string>& settings);
  std::string StatsJson();
  void Clear();

  const FabricFile file_;
  const Wiring wiring_;
  std::vector<UniqueFd> taps_;  // by node; none if the device was deleted
  SwitchCore core_;
  PacketPool pool_;
  Pacer pacer_;
  std::unique_ptr<ControlServer> control_;
  bool quit_ = false;
  bool super_packets_ = false;
  std::string scheduling_ = "other";
  uint32_t reading_ = PacketPool::kNoBuffer;  // a large buffer, for the next packet
  // Begin, in time and in CPU time, of the window in which the thread's share of its core is watched.
  int64_t window_ns_ = 0;
  int64_t window_used_ns_ = 0;

  // Statistics.
  int64_t since_ns_ = 0;
  int64_t spun_before_ns_ = 0;
  uint64_t frames_in_ = 0;
  uint64_t bytes_in_ = 0;
  uint64_t frames_out_ = 0;
  uint64_t bytes_out_ = 0;
  uint64_t arp_answers_ = 0;
  uint64_t drops_memory_ = 0;
  uint64_t drops_write_ = 0;
  uint64_t rests_ = 0;
  uint64_t devices_lost_ = 0;  // never cleared
  Histogram lateness_ns_;
};

}  // namespace copse::fabric

#endif  // COPSE_TESTBED_FABRIC_FABRIC_H_
