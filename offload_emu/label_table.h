// SPDX-License-Identifier: Apache-2.0
//
// Issues the labels of incoming edges, which the neighbors' packets carry.
#ifndef COPSE_OFFLOAD_EMU_LABEL_TABLE_H_
#define COPSE_OFFLOAD_EMU_LABEL_TABLE_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "base/hash.h"
#include "base/ids.h"
#include "offload_emu/packet.h"

namespace copse::emu {

class Port;

// A LabelTable maps labels to edges. Labels are a bijection of a running number, keyed by the incarnation: they look
// random, so that a predecessor's stale label hardly ever matches an edge, and none repeats before 2^32 were issued.
// Thread-compatible; only looked up, never iterated.
class LabelTable {
 public:
  struct Target {
    Port* port = nullptr;
    uint32_t edge = 0;
  };

  explicit LabelTable(Incarnation incarnation) : key_(Mix64(incarnation.value())) {}

  Label Issue(Target target) {
    for (;;) {
      const Label label{Scramble(next_++)};
      if (label != kNoLabel && targets_.try_emplace(label, target).second) return label;
    }
  }
  void Retire(Label label) { targets_.erase(label); }
  // Returns null if no such label is in use.
  const Target* Find(Label label) const {
    const auto it = targets_.find(label);
    return it == targets_.end() ? nullptr : &it->second;
  }

 private:
  uint32_t Scramble(uint32_t value) const {
    value ^= static_cast<uint32_t>(key_);
    value = (value ^ (value >> 16)) * 0x7feb352du;
    value = (value ^ (value >> 15)) * 0x846ca68bu;
    return (value ^ (value >> 16)) ^ static_cast<uint32_t>(key_ >> 32);
  }

  const uint64_t key_;
  uint32_t next_ = 0;
  absl::flat_hash_map<Label, Target> targets_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_LABEL_TABLE_H_
