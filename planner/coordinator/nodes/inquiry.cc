// SPDX-License-Identifier: Apache-2.0
#include "planner/coordinator/nodes/inquiry.h"

#include <algorithm>
#include <iterator>

namespace copse::coordinator {

DaemonPair PairOf(Incarnation a, Incarnation b) { return a < b ? DaemonPair{a, b} : DaemonPair{b, a}; }

bool Inquiry::Accuse(Incarnation from, Incarnation about, uint32_t living, std::set<TeamId> teams,
                     absl::Duration silent) {
  living_[from] = living;
  const auto [it, is_new] = links_.try_emplace(PairOf(from, about));
  it->second.accusers.insert(from);
  it->second.teams.merge(teams);
  it->second.silent = std::max(it->second.silent, silent);
  return is_new;
}

void Inquiry::Withdraw(Incarnation from, Incarnation about) {
  const auto it = links_.find(PairOf(from, about));
  if (it == links_.end()) return;
  it->second.accusers.erase(from);
  if (it->second.accusers.empty()) links_.erase(it);
  ForgetUnused();
}

// Returns the dead links that are connected with this one, itself included.
Inquiry::Unexplained Inquiry::Connected(const DaemonPair& link) const {
  Unexplained all, connected;
  for (const auto& [pair, unused] : links_) {
    all[pair.first].insert(pair.second);
    all[pair.second].insert(pair.first);
  }
  std::vector<Incarnation> open = {link.first};
  while (!open.empty()) {
    const Incarnation daemon = open.back();
    open.pop_back();
    if (!connected.emplace(daemon, all[daemon]).second) continue;
    open.insert(open.end(), all[daemon].begin(), all[daemon].end());
  }
  return connected;
}

// Returns whether the evidence says that `a`, rather than `b`, is cut off.
bool Inquiry::Beats(Incarnation a, Incarnation b, const Unexplained& links,
                    const std::function<bool(Incarnation)>& can_speak) const {
  const auto hears = [&](Incarnation daemon) {
    const auto it = living_.find(daemon);
    return it != living_.end() && it->second > 0;
  };
  if (hears(a)) return false;
  if (hears(b)) return true;
  const size_t dead_a = links.at(a).size(), dead_b = links.at(b).size();
  if (dead_a != dead_b) return dead_a > dead_b;
  return living_.count(a) == 0 && living_.count(b) != 0 && can_speak(a);
}

std::vector<LinkVerdict> Inquiry::Judge(const DaemonPair& link, const std::function<bool(Incarnation)>& can_speak) {
  if (links_.count(link) == 0) return {};
  Unexplained open = Connected(link);
  std::vector<LinkVerdict> verdicts;
  const auto decide = [&](const DaemonPair& pair, std::optional<Incarnation> lost) {
    const auto it = links_.find(pair);
    verdicts.push_back({pair, lost, std::move(it->second.teams), it->second.silent});
    links_.erase(it);
  };
  // Lost daemons are found one after the other: a link that a lost daemon explains is no evidence against its other
  // end.
  for (bool more = true; more;) {
    more = false;
    for (auto& entry : open) {
      const Incarnation daemon = entry.first;
      std::set<Incarnation>& others = entry.second;
      const bool beats_all = std::all_of(others.begin(), others.end(),
                                         [&](Incarnation other) { return Beats(daemon, other, open, can_speak); });
      if (others.empty() || !beats_all) continue;
      for (const Incarnation other : others) {
        decide(PairOf(daemon, other), daemon);
        open.at(other).erase(daemon);
      }
      others.clear();
      more = true;
    }
  }
  for (const auto& [daemon, others] : open) {
    for (const Incarnation other : others) {
      if (daemon < other) decide({daemon, other}, std::nullopt);
    }
  }
  std::sort(verdicts.begin(), verdicts.end(),
            [](const LinkVerdict& a, const LinkVerdict& b) { return a.link < b.link; });
  ForgetUnused();
  return verdicts;
}

void Inquiry::ForgetUnused() {
  std::set<Incarnation> used;
  for (const auto& [pair, unused] : links_) used.insert({pair.first, pair.second});
  for (auto it = living_.begin(); it != living_.end();) {
    it = used.count(it->first) != 0 ? std::next(it) : living_.erase(it);
  }
}

}  // namespace copse::coordinator
