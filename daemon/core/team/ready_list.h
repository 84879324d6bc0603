// SPDX-License-Identifier: Apache-2.0
//
// Lists the items that have work, so that idle ones cost nothing.
#ifndef COPSE_DAEMON_CORE_TEAM_READY_LIST_H_
#define COPSE_DAEMON_CORE_TEAM_READY_LIST_H_

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace copse::daemon {

// A ReadyList holds each item that was marked since it was last handled, once, in the order of the first marks. An item
// has one Entry, which may be destroyed at any time, also while the list is handled. A mark costs O(1).
// Thread-compatible; the list must outlive its entries, and an item its entry.
template <typename Item>
class ReadyList {
 public:
  class Entry {
   public:
    Entry(ReadyList* list, Item* item) : list_(list), item_(item) {}
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (marked_) std::replace(list_->entries_.begin(), list_->entries_.end(), this, static_cast<Entry*>(nullptr));
    }

    void Mark() {
      if (std::exchange(marked_, true)) return;
      list_->entries_.push_back(this);
    }

   private:
    friend class ReadyList;
    ReadyList* const list_;
    Item* const item_;
    bool marked_ = false;
  };

  ReadyList() = default;
  ReadyList(const ReadyList&) = delete;
  ReadyList& operator=(const ReadyList&) = delete;

  // Calls `handle(item)` for each marked item, and for those that are marked meanwhile. Marks of the item that is being
  // handled have no effect, so `handle` must finish its work. Must not be called from `handle`. Returns true if there
  // was any item.
  template <typename Handle>
  bool HandleAll(const Handle& handle) {
    if (entries_.empty()) return false;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (entries_[i] != nullptr) handle(entries_[i]->item_);
      if (entries_[i] != nullptr) entries_[i]->marked_ = false;
    }
    entries_.clear();
    return true;
  }

 private:
  std::vector<Entry*> entries_;  // null: the entry was destroyed
};

}  // namespace copse::daemon

#endif  // COPSE_DAEMON_CORE_TEAM_READY_LIST_H_
