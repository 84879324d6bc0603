// SPDX-License-Identifier: Apache-2.0
//
// Models the greatest gain of transparent non-blocking collectives (T-NBC) for a blocking call and the computation
// after it, by the times at which data arrives. All times are in one unit.
#ifndef COPSE_BENCH_PAPERS_TNBC_MODEL_H_
#define COPSE_BENCH_PAPERS_TNBC_MODEL_H_

#include <cstdint>

namespace copse::bench::papers {

// A CallAndComputation is a call followed by `unrelated` computation, then `related`, which reads `blocks` blocks of
// equal size in order, then `rest`, which needs all of them.
struct CallAndComputation {
  double call = 0;  // duration of the blocking call
  double unrelated = 0;
  double related = 0;
  double rest = 0;
  uint32_t blocks = 1;
  // Earliest arrival of the first block, as a share of the call: 1 / M for an alltoall with M ranks per node, since one
  // rank at a time has the link; 1 / m for a bcast in m segments.
  double first_part = 1;

  double blocking() const { return call + unrelated + related + rest; }
};

// Returns the arrival of block `index` since the call's beginning: the first block arrives after its share, the last
// one at the call's end, the others evenly between.
double ArrivalOf(const CallAndComputation& what, uint32_t index);
// Returns the time from the call's beginning to the computation's end if the call returns at once and the program waits
// for each block when it reads it.
double Replay(const CallAndComputation& what);
// Returns the time that a replay saves: blocking() - Replay().
double OverlapAllowed(const CallAndComputation& what);

// Returns the upper limit of the gain, whichever data the computation needs: min(computation until the next call,
// call (1 - first_part)).
double Ceiling(const CallAndComputation& what);

// Returns the share of the possible gain that was not reached, in percent: 0 if all was, above 100 if the run became
// slower, below 0 if it gained more than overlap explains. Returns 100 if no gain was possible.
double NotReachedPercent(double possible, double reached);

}  // namespace copse::bench::papers

#endif  // COPSE_BENCH_PAPERS_TNBC_MODEL_H_
