// SPDX-License-Identifier: Apache-2.0
#include "bench/targets.h"

#include <string_view>

#include "absl/strings/str_cat.h"

namespace copse::bench {
namespace {

const char* const kRates[] = {"200 Mbit/s", "1 Gbit/s"};

void AddKernels(std::vector<Target>* targets) {
  for (const char* kernel : {"ft", "is"}) {
    for (const char* name : {"A", "B"}) {
      for (const char* rate : kRates) {
        const std::string what = absl::StrCat("class ", name, ", shaped ", rate);
        for (const uint32_t ppn : {2, 4}) {
          targets->push_back({kernel, what, 4, ppn, "plain ceiling missed", "", 30,
                              "70 % of what can be hidden at most of plain MPI's calls"});
          targets->push_back(
              {kernel, what, 4, ppn, "ceiling missed", "", 30, "70 % of what overlap alone can hide at most"});
        }
      }
    }
  }
}

// Where ranks need no core to compute: else the cores decide.
void AddTnbcScenarios(std::vector<Target>* targets) {
  for (const char* payload : {"alltoall 64 KiB", "alltoall 256 KiB", "alltoall 1 MiB", "bcast 1 MiB", "bcast 8 MiB"}) {
    for (const char* scenario : {"445+350", "0+350", "0+175", "177+350", "177+175"}) {
      for (const std::string rate : kRates) {
        if (payload == std::string_view("alltoall 1 MiB") && rate != "1 Gbit/s") continue;  // takes too long
        const std::string what = absl::StrCat(payload, ", ", scenario, ", idle cores, shaped ", rate);
        targets->push_back(
            {"tnbc-scenarios", what, 4, 4, "not overlapped", "", 5, "what a replay of the scenario allows"});
        targets->push_back({"tnbc-scenarios", what, 4, 4, "in call", "", 5, "the paper's was 22 %"});
      }
    }
  }
}

void AddTnbcCosts(std::vector<Target>* targets) {
  for (const char* payload : {"alltoall 256 KiB", "alltoall 1 MiB", "bcast 256 KiB", "bcast 1 MiB"}) {
    targets->push_back({"tnbc-cost", absl::StrCat(payload, ", shaped 1 Gbit/s"), 2, 1, "in call", "", 3,
                        "what is left to hide; of 16 ranks on two cores: tnbc-scenarios"});
  }
}

void AddTnbcOrders(std::vector<Target>* targets) {
  for (const std::string library : {"openmpi", "mpich"}) {
    for (const char* order : {"forward", "reverse", "random"}) {
      for (const char* rate : kRates) {
        const std::string what = absl::StrCat("alltoall 256 KiB, ", order, ", shaped ", rate);
        targets->push_back({"tnbc-order", what, 4, 4, "ratio", library + "+copse-profile", 1.05,
                            "what calls show is as good as what was known before"});
        targets->push_back(
            {"tnbc-order", what, 4, 4, "ratio", library + "+copse-unordered", 1, "priorities are worth their while"});
      }
    }
  }
}

// The same programs as `apps` has.
void AddTnbcApps(std::vector<Target>* targets) {
  std::vector<Target> added;
  for (Target target : *targets) {
    if (target.bench != "apps") continue;
    target.bench = "apps-tnbc";
    target.peer = "copse-blocking";
    target.limit = 1.03;
    target.why = "who gains nothing loses nothing";
    added.push_back(target);
  }
  targets->insert(targets->end(), added.begin(), added.end());
}

std::vector<Target> MakeTargets() {
  std::vector<Target> targets = {
      {"hop", "packet 128 B one way, polling", 2, 1, "ratio", "ucx", 1.25, "what the engine adds to a packet of UCX's"},
      {"hop", "packet 128 B one way, sleeping", 2, 1, "ratio", "ucx", 1.25, "the same where both sleep"},
      {"bandwidth", "bcast 64 MiB, shaped 1 Gbit/s", 4, 1, "ratio", "link", 1.11,
       "90 % of what the algorithm can reach there"},
      {"bandwidth", "allreduce 64 MiB, shaped 1 Gbit/s", 4, 1, "ratio", "link", 1.11,
       "90 % of what the algorithm can reach there"},
      {"bandwidth", "allgather 64 MiB, shaped 1 Gbit/s", 4, 1, "ratio", "link", 1.11,
       "90 % of what the algorithm can reach there"},
      {"bandwidth", "bcast 64 MiB, unshaped", 4, 1, "ratio", "better MPI", 1, "no slower where processors decide"},
      {"bandwidth", "allreduce 64 MiB, unshaped", 4, 1, "ratio", "better MPI", 1, "no slower where processors decide"},
      {"bandwidth", "allgather 64 MiB, unshaped", 4, 1, "ratio", "better MPI", 1, "no slower where processors decide"},
      {"apps", "mpi4py, idle", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "mpi4py, busy", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdlu_openmpi, idle", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdlu_openmpi, busy", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdsep_openmpi, idle", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdsep_openmpi, busy", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdlu_mpich, idle", 2, 2, "ratio", "mpich", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdlu_mpich, busy", 2, 2, "ratio", "mpich", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdsep_mpich, idle", 2, 2, "ratio", "mpich", 1.03, "who gains nothing loses nothing"},
      {"apps", "scalapack_xdsep_mpich, busy", 2, 2, "ratio", "mpich", 1.03, "who gains nothing loses nothing"},
      {"apps", "nwchem_openmpi, idle", 2, 1, "ratio", "openmpi", 1, "a quarter of it is collectives"},
      {"apps", "nwchem_openmpi, busy", 2, 1, "ratio", "openmpi", 1, "a quarter of it is collectives"},
      {"apps", "nwchem_mpich, idle", 2, 1, "ratio", "mpich", 1, "a quarter of it is collectives"},
      {"apps", "nwchem_mpich, busy", 2, 1, "ratio", "mpich", 1, "a quarter of it is collectives"},
      {"apps", "quantum_espresso, idle", 2, 2, "ratio", "openmpi", 1, "a third of it and more is collectives"},
      {"apps", "quantum_espresso, busy", 2, 2, "ratio", "openmpi", 1, "a third of it and more is collectives"},
      {"apps", "hpcc, idle", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "hpcc, busy", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "lammps, idle", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"apps", "lammps, busy", 2, 2, "ratio", "openmpi", 1.03, "who gains nothing loses nothing"},
      {"collectives", "all, unshaped", 8, 8, "cells not ahead", "", 10, "one daemon a node for all its ranks"},
      {"collectives", "all from 256 KiB, shaped 1 Gbit/s", 4, 4, "cells not ahead", "", 50, "the link decides"},
      {"collectives", "all from 256 KiB, shaped 1 Gbit/s", 4, 4, "worst ratio", "", 1.05,
       "what the link can carry, of every collective"},
      {"comm", "dup and free, unused", 4, 2, "ratio", "openmpi", 1.05, "teams are made for those that are used"},
      {"comm", "dup and free, 1 barrier each", 4, 2, "ratio", "openmpi", 1.05,
       "teams are made for those that are used"},
      {"comm", "dup and free, 12 barriers each", 4, 2, "ratio", "openmpi", 1.05,
       "teams are made for those that are used"},
      {"comm", "split and free, unused", 4, 2, "ratio", "openmpi", 1.05, "teams are made for those that are used"},
      {"comm", "split and free, 1 barrier each", 4, 2, "ratio", "openmpi", 1.05,
       "teams are made for those that are used"},
      {"comm", "split and free, 12 barriers each", 4, 2, "ratio", "openmpi", 1.05,
       "teams are made for those that are used"},
      {"comm", "dup and free, unused", 4, 2, "ratio", "mpich", 1.05, "teams are made for those that are used"},
      {"comm", "dup and free, 1 barrier each", 4, 2, "ratio", "mpich", 1.05, "teams are made for those that are used"},
      {"comm", "dup and free, 12 barriers each", 4, 2, "ratio", "mpich", 1.05,
       "teams are made for those that are used"},
      {"comm", "split and free, unused", 4, 2, "ratio", "mpich", 1.05, "teams are made for those that are used"},
      {"comm", "split and free, 1 barrier each", 4, 2, "ratio", "mpich", 1.05,
       "teams are made for those that are used"},
      {"comm", "split and free, 12 barriers each", 4, 2, "ratio", "mpich", 1.05,
       "teams are made for those that are used"},
      {"fabric", "one packet at a time", 2, 1, "lateness p99", "", 30, "delays are what was asked for"},
      {"fabric", "packets of 64 B, as many as one sender makes", 2, 1, "ratio", "aim", 1, "100,000 packets/s"},
      {"fabric", "one TCP flow, super-packets", 2, 1, "ratio", "aim", 1, "2 Gbit/s"},
      {"gatherv", "gatherv 8 B, equal", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 B, heavy", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 B, random", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 B, empty", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 kB, equal", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 kB, heavy", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 kB, random", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 kB, empty", 8, 32, "ratio", "better MPI", 0.1, "a tree, where theirs is linear"},
      {"gatherv", "gatherv 8 B, equal", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 B, heavy", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 B, random", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 B, empty", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 kB, equal", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 kB, heavy", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 kB, random", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "gatherv 8 kB, empty", 8, 32, "ratio", "copse-linear", 0.333, "a tree, not a faster library"},
      {"gatherv", "what the root holds", 8, 32, "children", "", 3, "lb(nodes) of them, whatever the ranks"},
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
      {"hetero", "gather 1 kB", 12, 1, "ratio", "better MPI", 0.5, "a tree that knows the sites"},
      {"hetero", "scatter 1 kB", 12, 1, "ratio", "better MPI", 0.5, "a tree that knows the sites"},
      {"hetero", "allgather 1 kB", 12, 1, "ratio", "better MPI", 0.5, "a tree that knows the sites"},
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
      {"mpi-collectives", "allreduce 48 B, idle", 8, 1, "ratio", "openmpi", 1.2, "what `latency` is held to"},
      {"mpi-collectives", "allreduce 48 B, busy", 8, 1, "ratio", "openmpi", 0.05, "what `latency` is held to"},
      {"mpi-collectives", "allreduce 48 B, idle", 8, 8, "ratio", "openmpi", 0.1, "what `latency` is held to"},
      {"mpi-collectives", "all, idle", 8, 8, "cells not ahead", "", 10, "what `collectives` is held to"},
      {"memory", "allreduce 64 KiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "allreduce 1 MiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "allreduce 32 MiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "alltoall 64 KiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "alltoall 1 MiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "alltoall 8 MiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "alltoall 1 MiB", 4, 4, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "alltoall 256 KiB", 4, 16, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "gather 4 MiB", 2, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "gather 4 MiB", 4, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"memory", "gather 4 MiB", 8, 1, "ratio", "memory_limit", 1, "within its limit, always"},
      {"mgo-table", "bcast 1 kB, sound", 512, 1, "ratio", "FT", 0.025,
       "MGO is faster than FT by up to 98 %, as published"},
      {"overlap", "bcast 256 KiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5, "nobody waits for a slow network"},
      {"overlap", "bcast 1 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5, "nobody waits for a slow network"},
      {"overlap", "bcast 4 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5, "nobody waits for a slow network"},
      {"overlap", "allreduce 256 KiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "allreduce 1 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "allreduce 4 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "alltoall 256 KiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "alltoall 1 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "alltoall 4 MiB, shaped 200 Mbit/s", 2, 1, "not overlapped", "", 5,
       "nobody waits for a slow network"},
      {"overlap", "bcast 256 KiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "bcast 1 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "bcast 4 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "allreduce 256 KiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "allreduce 1 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "allreduce 4 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "alltoall 256 KiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "alltoall 1 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"overlap", "alltoall 4 MiB, shaped 1 Gbit/s", 2, 1, "ratio", "computation and costs", 1.02,
       "only processors are shared"},
      {"plan-quality", "best / optimum, 4 to 7 nodes", 7, 1, "mean", "", 1.01,
       "small clusters are planned as well as can be"},
      {"plan-quality", "best / optimum, 4 to 7 nodes", 7, 1, "worst", "", 1.12, "and none is planned badly"},
      {"plan-quality", "best / MGO, clusters \"mgo\" and \"racks\"", 512, 1, "mean", "", 0.88,
       "what a search finds beyond the best published trees"},
      {"plan-quality", "best / MGO, all clusters", 512, 1, "worst", "", 1, "never worse than MGO"},
      {"plan-quality", "best / MGO, all clusters", 64, 1, "worst", "", 1, "never worse than MGO"},
      {"shim", "all calls, one rank", 1, 2, "worst added", "", 100, "nobody notices what passes by"},
      {"shim", "all calls, no daemons", 1, 2, "worst added", "", 100, "nobody notices what passes by"},
      {"shim", "all calls, first calls", 1, 2, "worst added", "", 100, "nobody notices what passes by"},
      {"shim", "MPI_Init and MPI_Finalize, daemons", 4, 2, "added", "", 100, "programs start as they did"},
      {"shim", "MPI_Init and MPI_Finalize, daemons and a team", 4, 2, "added", "", 100, "programs start as they did"},
      {"shim", "MPI_Init and MPI_Finalize, no daemons", 4, 2, "added", "", 100, "programs start as they did"},
      {"scale", "gatherv by binomial, counts random", 2'048, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 4'096, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 8'192, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 16'384, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 32'768, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 65'536, 1, "growth", "", 2, "linear, and no more"},
      {"scale", "gatherv by binomial, counts random", 32'768, 1, "connections", "", 15, "lb(nodes)"},
      {"scale", "gatherv by binomial, counts equal", 256, 1, "beside linear", "", 0.333, "what a tree is worth"},
      {"scale", "gatherv by binomial, counts heavy", 256, 1, "beside linear", "", 0.333, "what a tree is worth"},
      {"scale", "gatherv by binomial, counts random", 256, 1, "beside linear", "", 0.333, "what a tree is worth"},
      {"scale", "gatherv by binomial, counts sparse", 256, 1, "beside linear", "", 0.333, "what a tree is worth"},
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
  AddKernels(&targets);
  AddTnbcScenarios(&targets);
  AddTnbcCosts(&targets);
  AddTnbcOrders(&targets);
  AddTnbcApps(&targets);
  return targets;
}

}  // namespace

const std::vector<Target>& Targets() {
  static const auto& targets = *new std::vector<Target>(MakeTargets());
  return targets;
}

void SetTarget(Row* row) {
  for (const Target& target : Targets()) {
    const bool same_metric = row->metric == target.metric || row->metric == "unfinished";
    // Of variants only what is chosen, or what the benchmark is about; under whichever MPI.
    const bool ours = HasCopse(row->system) && (!row->system.starts_with("copse-") || row->system == "copse-best" ||
                                                row->system == "copse-tnbc");
    if (ours && row->bench == target.bench && row->what == target.what && row->nodes == target.nodes &&
        row->ppn == target.ppn && same_metric && row->peer == target.peer) {
      row->target = target.limit;
    }
  }
}

}  // namespace copse::bench
