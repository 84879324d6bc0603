// SPDX-License-Identifier: Apache-2.0
#include "bench/targets.h"

namespace copse::bench {

const std::vector<Target>& Targets() {
  static const auto& targets = *new std::vector<Target>{
      {"hop", "packet 128 B one way, polling", 2, 1, "ratio", "ucx", 1.25, "what the engine adds to a packet of UCX's"},
      {"hop", "packet 128 B one way, sleeping", 2, 1, "ratio", "ucx", 1.25, "the same where both sleep"},
      {"collectives", "all, unshaped", 8, 8, "cells not ahead", "", 10, "one daemon a node for all its ranks"},
      {"collectives", "all from 256 KiB, shaped 1 Gbit/s", 4, 4, "cells not ahead", "", 50, "the link decides"},
      {"collectives", "all from 256 KiB, shaped 1 Gbit/s", 4, 4, "worst ratio", "", 1.05,
       "what the link can carry, of every collective"},
      {"fabric", "one packet at a time", 2, 1, "lateness p99", "", 30, "delays are what was asked for"},
      {"fabric", "packets of 64 B, as many as one sender makes", 2, 1, "ratio", "aim", 1, "100,000 packets/s"},
      {"fabric", "one TCP flow, super-packets", 2, 1, "ratio", "aim", 1, "2 Gbit/s"},
      {"latency", "allreduce 48 B, idle", 2, 1, "ratio", "openmpi", 5,
       "two ranks that poll on a core each: sleeping loses"},
      {"latency", "allreduce 48 B, idle", 8, 1, "ratio", "openmpi", 1.2, "as good as MPI where only MPI runs"},
      {"latency", "allreduce 48 B, idle", 8, 8, "ratio", "openmpi", 0.1, "one daemon a node for all its ranks"},
      {"latency", "allreduce 48 B, busy", 8, 1, "ratio", "openmpi", 0.05, "whoever sleeps is scheduled at once"},
      {"latency", "allreduce 48 B, fabric 1 ms", 8, 1, "ratio", "critical path", 1.15,
       "delays of the plan's hops alone"},
      {"latency", "allreduce 48 B, fabric 1 ms", 8, 1, "ratio", "openmpi", 1, "plans know the network"},
      {"idle", "daemon", 2, 1, "cpu", "", 0.5, "nobody notices an idle daemon"},
      {"idle", "daemon", 2, 1, "memory", "", 40, "nobody notices an idle daemon"},
      {"idle", "an attached client", 1, 1, "memory", "", 200, "hundreds of processes may attach"},
      {"idle", "an edge", 17, 1, "memory", "", 100, "daemons hold their neighbours, not the cluster"},
      {"hetero", "bcast 1 kB", 12, 1, "ratio", "better MPI", 0.5, "a tree that knows the sites"},
      {"hetero", "bcast 64 kB", 12, 1, "ratio", "better MPI", 0.5, "each slow link is crossed once"},
      {"hetero", "barrier", 12, 1, "ratio", "better MPI", 0.667, "sites wait for each other once"},
      {"hetero", "allreduce 48 B", 12, 1, "ratio", "better MPI", 0.667, "sites wait for each other once"},
      {"hetero", "bcast 1 kB", 12, 1, "prediction error", "", 15, "plans are chosen by predictions"},
      {"hetero", "bcast 64 kB", 12, 1, "prediction error", "", 15, "plans are chosen by predictions"},
      {"hetero", "barrier", 12, 1, "prediction error", "", 15, "plans are chosen by predictions"},
      {"hetero", "allreduce 48 B", 12, 1, "prediction error", "", 15, "plans are chosen by predictions"},
      {"probe", "3 sites, tree known", 12, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "3 sites, tree known", 12, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "3 sites, tree found", 12, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "3 sites, tree found", 12, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "3 sites, tree found", 12, 1, "links missed", "", 0.5, "the tree is recovered"},
      {"probe", "random sites 1, tree known", 14, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 1, tree known", 14, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 1, tree found", 14, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 1, tree found", 14, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 1, tree found", 14, 1, "links missed", "", 0.5, "the tree is recovered"},
      {"probe", "random sites 2, tree known", 11, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 2, tree known", 11, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 2, tree found", 11, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 2, tree found", 11, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 2, tree found", 11, 1, "links missed", "", 0.5, "the tree is recovered"},
      {"probe", "random sites 3, tree known", 10, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 3, tree known", 10, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 3, tree found", 10, 1, "latency", "", 1, "every link to 15 % or 60 us"},
      {"probe", "random sites 3, tree found", 10, 1, "rate", "", 1, "every bottleneck to 25 %"},
      {"probe", "random sites 3, tree found", 10, 1, "links missed", "", 0.5, "the tree is recovered"},
      {"replan", "allreduce 48 B, a site's latency times 10", 12, 1, "calls lost or wrong", "", 0.5,
       "an epoch switch loses nothing"},
      {"replan", "allreduce 48 B, a site's latency times 10", 12, 1, "ratio", "fresh start", 1.2,
       "as good as had it been so from the start"},
      {"replan", "allreduce 64 KiB, a site's rate by 10", 12, 1, "calls lost or wrong", "", 0.5,
       "an epoch switch loses nothing"},
      {"replan", "allreduce 64 KiB, a site's rate by 10", 12, 1, "ratio", "fresh start", 1.2,
       "as good as had it been so from the start"},
      {"noise", "allreduce 48 B beside 1 ms of computing", 8, 1, "ratio", "openmpi", 0.5, "the call runs elsewhere"},
      {"mgo-table", "bcast 1 kB, sound", 512, 1, "ratio", "FT", 0.025,
       "MGO is faster than FT by up to 98 %, as published"},
      {"plan-quality", "best / optimum, 4 to 7 nodes", 7, 1, "mean", "", 1.01,
       "small clusters are planned as well as can be"},
      {"plan-quality", "best / optimum, 4 to 7 nodes", 7, 1, "worst", "", 1.12, "and none is planned badly"},
      {"plan-quality", "best / MGO, clusters \"mgo\" and \"racks\"", 512, 1, "mean", "", 0.88,
       "what a search finds beyond the best published trees"},
      {"plan-quality", "best / MGO, all clusters", 512, 1, "worst", "", 1, "never worse than MGO"},
      {"plan-quality", "best / MGO, all clusters", 64, 1, "worst", "", 1, "never worse than MGO"},
      {"plan-time", "MGO, cluster \"mgo\"", 65'536, 1, "time", "", 100, "a plan in a blink"},
      {"plan-time", "MGO, cluster \"mgo\"", 1'000'000, 1, "time", "", 3000, "larger than any cluster"},
      {"plan-time", "best, cluster \"mgo\"", 65'536, 1, "time", "", 1500, "a good plan while a job starts"},
      {"plan-time", "MGO, growth from 65,536, cluster \"mgo\"", 1'000'000, 1, "growth", "", 1, "as n log n"},
      {"plan-time", "MGO, cluster \"racks\"", 65'536, 1, "time", "", 100, "a plan in a blink"},
      {"plan-time", "MGO, cluster \"racks\"", 1'000'000, 1, "time", "", 3000, "larger than any cluster"},
      {"plan-time", "best, cluster \"racks\"", 65'536, 1, "time", "", 1500, "a good plan while a job starts"},
      {"plan-time", "MGO, growth from 65,536, cluster \"racks\"", 1'000'000, 1, "growth", "", 1, "as n log n"},
      {"plan-time", "MGO, cluster \"wan\"", 65'536, 1, "time", "", 100, "a plan in a blink"},
      {"plan-time", "MGO, cluster \"wan\"", 1'000'000, 1, "time", "", 3000, "larger than any cluster"},
      {"plan-time", "best, cluster \"wan\"", 65'536, 1, "time", "", 1500, "a good plan while a job starts"},
      {"plan-time", "MGO, growth from 65,536, cluster \"wan\"", 1'000'000, 1, "growth", "", 1, "as n log n"},
  };
  return targets;
}

void SetTarget(Row* row) {
  for (const Target& target : Targets()) {
    const bool same_metric = row->metric == target.metric || row->metric == "unfinished";
    const bool ours = row->system == "copse" || row->system == "copse-best";
    if (ours && row->bench == target.bench && row->what == target.what && row->nodes == target.nodes &&
        row->ppn == target.ppn && same_metric && row->peer == target.peer) {
      row->target = target.limit;
    }
  }
}

}  // namespace copse::bench
