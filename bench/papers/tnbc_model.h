// SPDX-License-Identifier: Apache-2.0
//
// What transparent non-blocking collectives (T-NBC) can bring at most: of a blocking call and the computation behind
// it, by how data arrives. All times in one unit.
#ifndef COPSE_BENCH_PAPERS_TNBC_MODEL_H_
#define COPSE_BENCH_PAPERS_TNBC_MODEL_H_

#include <cstdint>

namespace copse::bench::papers {

// A call and what follows: `unrelated` computation, then `related`, which reads `blocks` blocks of equal size in order,
// then `rest`, which needs all of them.
struct CallAndComputation {
  double call = 0;  // if it blocks
  double unrelated = 0;
  double related = 0;
  double rest = 0;
  uint32_t blocks = 1;
  // When the first block is there at the earliest, as a part of the call. An alltoall of M ranks a node: 1 / M, since
  // one rank at a time has the link; a bcast in m segments: 1 / m.
  double first_part = 1;

  double blocking() const { return call + unrelated + related + rest; }
};

// When block `index` is there, from the call's beginning: the first after its part, the last with the call's end, the
// others evenly between.
double ArrivalOf(const CallAndComputation& what, uint32_t index);
// From the call's beginning to the computation's end, if the call returns at once and each block is awaited when it is
// read.
double Replay(const CallAndComputation& what);
// What a replay saves: blocking() - Replay().
double OverlapAllowed(const CallAndComputation& what);

// The ceiling of a call whatever its computation needs: min(computation until the next call, call (1 - first_part)).
double Ceiling(const CallAndComputation& what);

// How much of what was possible was not reached, in percent: 0 if all was, beyond 100 if it took longer than before,
// below 0 if something else than overlap made it faster. 100 if nothing was possible.
double NotReachedPercent(double possible, double reached);

}  // namespace copse::bench::papers

#endif  // COPSE_BENCH_PAPERS_TNBC_MODEL_H_
