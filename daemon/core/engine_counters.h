// SPDX-License-Identifier: Apache-2.0
//
// Names the engine's counters as `copsectl stats` prints them (docs/reference/instruments.md).
#ifndef COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_
#define COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_

#include <cstdint>
#include <map>
#include <string>

#include "offload_emu/engine.h"

namespace copse::daemon {

// Sets an entry of `*counters` for each counter of `stats`, under a name such as "engine.frames.sent".
void AppendCounters(const emu::EngineStats& stats, std::map<std::string, uint64_t>* counters);

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_ENGINE_COUNTERS_H_
