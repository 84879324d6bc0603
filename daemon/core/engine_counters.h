// SPDX-License-Identifier: Apache-2.0
//
// The engine's counters under the names that `copsectl stats` prints: docs/reference/instruments.md.
#ifndef COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_
#define COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "offload_emu/engine.h"

namespace copse::daemon {

void AppendCounters(const emu::EngineStats& stats, std::map<std::string, uint64_t>* counters);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_
