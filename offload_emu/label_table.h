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

// A LabelTable maps labels to edges. Labels are random, or follow from random ones: a predecessor's stale label hardly
// ever matches an edge, and one edge's label does not reveal another's. Thread-compatible; only looked up, never
// iterated.
class LabelTable {
 public:
  struct Target {
    Port* port = nullptr;
    uint32_t edge = 0;
  };

  // `random` returns random numbers. Null: labels follow from the incarnation.
  LabelTable(Incarnation incarnation, uint32_t (*random)()) : random_(random), state_(incarnation.value()) {}

  Label Issue(Target target) {
    for (;;) {
      const Label label{random_ != nullptr ? random_() : static_cast<uint32_t>(Mix64(++state_))};
      if (label != kNoLabel && targets_.try_emplace(label, target).second) return label;
    }
  }
  // Issues this label. Returns false if it is in use, or kNoLabel.
  bool IssueAs(Label label, Target target) { return label != kNoLabel && targets_.try_emplace(label, target).second; }
  void Retire(Label label) { targets_.erase(label); }
  // Returns null if no such label is in use.
  const Target* Find(Label label) const {
    const auto it = targets_.find(label);
    return it == targets_.end() ? nullptr : &it->second;
  }

 private:
  uint32_t (*const random_)();
  uint64_t state_;
  absl::flat_hash_map<Label, Target> targets_;
};

}  // namespace copse::emu

#endif  // COPSE_OFFLOAD_EMU_LABEL_TABLE_H_
