// SPDX-License-Identifier: Apache-2.0
#include "cli/ctl/verbs/node_hardware.h"

#include <hwloc.h>

#include <climits>
#include <memory>

#include "absl/strings/str_cat.h"

namespace copse::ctl {

absl::StatusOr<v1::NodeHardware> ReadHwloc(const std::string& xml, const std::string& file) {
  const auto refused = [&] {
    return absl::InvalidArgumentError(
        absl::StrCat(file, ": not a machine as lstopo writes it in XML (bytes=", xml.size(), ")"));
  };
  if (xml.size() >= INT_MAX) return refused();
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return absl::InternalError("hwloc: cannot start");
  const std::unique_ptr<hwloc_topology, decltype(&hwloc_topology_destroy)> topology(raw, &hwloc_topology_destroy);
  // libhwloc expects the length with the terminating zero.
  if (hwloc_topology_set_xmlbuffer(raw, xml.c_str(), static_cast<int>(xml.size() + 1)) != 0) return refused();
  if (hwloc_topology_load(raw) != 0) return refused();
  const auto count = [&](hwloc_obj_type_t type) {
    const int number = hwloc_get_nbobjs_by_type(raw, type);
    return number > 0 ? static_cast<uint32_t>(number) : 0;
  };
  v1::NodeHardware hardware;
  hardware.set_packages(count(HWLOC_OBJ_PACKAGE));
  hardware.set_numa_nodes(count(HWLOC_OBJ_NUMANODE));
  hardware.set_threads(count(HWLOC_OBJ_PU));
  const uint32_t cores = count(HWLOC_OBJ_CORE);
  hardware.set_cores(cores > 0 ? cores : hardware.threads());
  if (hardware.cores() == 0) return absl::InvalidArgumentError(absl::StrCat(file, ": a machine without processors"));
  return hardware;
}

}  // namespace copse::ctl
