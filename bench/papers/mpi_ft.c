/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The communication of NPB's FT, with a kernel of our own: a field in the frequency domain evolves, and each step is
 * transformed back into space by FFTs in three dimensions, of which a transposition among all ranks is in the middle.
 *
 * Before it a rank holds some y and all of x and z; after it some z and all of x and y. Received blocks are read in
 * order of ranks: each has whole lines in x, which are transformed as they are copied; lines in y need all blocks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/papers/mpi_kernel.h"
#include "bench/ranks/mpi_program.h"

const char program_name[] = "mpi_ft";

enum { kLineMax = 512, kLinesTogether = 8, kSamples = 1024 };

typedef struct {
  double re, im;
} complex;

typedef struct {
  const char* name;
  int x, y, z;
} grid;

static const grid kClasses[] = {{"S", 64, 64, 64}, {"W", 128, 128, 32}, {"A", 256, 256, 128}, {"B", 512, 256, 256}};

static grid all;
static int rank, size;
static int own_y, own_z;  /* how many of each */
static complex* spectrum; /* [own_y][x][z], evolves */
static complex* outgoing; /* a block a rank: [own_y][own_z][x] */
static complex* incoming; /* likewise */
static complex* space;    /* [own_z][y][x] */
static double *decay_x, *decay_y, *decay_z;
static complex roots[kLineMax / 2];
static int roots_of; /* the length of line that they are for */
static uint64_t hash;

/* --- FFT of a line, backwards, not scaled --- */

static void make_roots(int length) {
  if (roots_of == length) return;
  roots_of = length;
  for (int i = 0; i < length / 2; i++) {
    roots[i].re = cos(2 * M_PI * i / length);
    roots[i].im = sin(2 * M_PI * i / length);
  }
}

static void reverse_bits(complex* line, int length) {
  for (int i = 1, j = 0; i < length; i++) {
    int bit = length >> 1;
    for (; j & bit; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i >= j) continue;
    const complex swapped = line[i];
    line[i] = line[j];
    line[j] = swapped;
  }
}

static void transform(complex* line, int length) {
  reverse_bits(line, length);
  for (int half = 1; half < length; half *= 2) {
    const int stride = length / (2 * half);
    for (int start = 0; start < length; start += 2 * half) {
      for (int i = 0; i < half; i++) {
        complex *even = &line[start + i], *odd = even + half;
        const complex root = roots[i * stride];
        const complex turned = {odd->re * root.re - odd->im * root.im, odd->re * root.im + odd->im * root.re};
        odd->re = even->re - turned.re;
        odd->im = even->im - turned.im;
        even->re += turned.re;
        even->im += turned.im;
      }
    }
  }
}

/* --- Data --- */

/* exp(-4 alpha pi^2 k^2) for frequencies k from -length / 2. */
static double* make_decay(int length) {
  double* decay = kernel_memory((size_t)length * sizeof(double));
  for (int i = 0; i < length; i++) {
    const double frequency = i < length / 2 ? i : i - length;
    decay[i] = exp(-4e-6 * M_PI * M_PI * frequency * frequency);
  }
  return decay;
}

static void make_spectrum(void) {
  const size_t count = (size_t)own_y * (size_t)all.x * (size_t)all.z, first = count * (size_t)rank;
  for (size_t i = 0; i < count; i++) {
    spectrum[i].re = (double)(random_of(2 * (first + i)) >> 11) * 0x1p-53;
    spectrum[i].im = (double)(random_of(2 * (first + i) + 1) >> 11) * 0x1p-53;
  }
}

int kernel_make(const char* class_name, int own_rank, int rank_count) {
  rank = own_rank;
  size = rank_count;
  memset(&all, 0, sizeof(all));
  for (size_t i = 0; i < sizeof(kClasses) / sizeof(kClasses[0]); i++) {
    if (strcmp(kClasses[i].name, class_name) == 0) all = kClasses[i];
  }
  if (all.name == NULL || all.y % size != 0 || all.z % size != 0) return 0;
  own_y = all.y / size;
  own_z = all.z / size;
  const size_t bytes = sizeof(complex) * (size_t)own_y * (size_t)all.x * (size_t)all.z;
  spectrum = kernel_memory(bytes);
  outgoing = kernel_memory(bytes);
  incoming = kernel_memory(bytes);
  space = kernel_memory(bytes);
  decay_x = make_decay(all.x);
  decay_y = make_decay(all.y);
  decay_z = make_decay(all.z);
  hash = 0;
  make_spectrum();
  return 1;
}

void kernel_free(void) {
  complex* fields[] = {spectrum, outgoing, incoming, space};
  double* decays[] = {decay_x, decay_y, decay_z};
  for (int i = 0; i < 4; i++) free(fields[i]);
  for (int i = 0; i < 3; i++) free(decays[i]);
}

/* --- An iteration --- */

static complex* block_of(complex* blocks, int peer) {
  return blocks + (size_t)peer * (size_t)own_y * (size_t)own_z * (size_t)all.x;
}

/* Some lines in z, beside each other in x: one step of time, transformed, and turned into the blocks. */
static void evolve_lines(int y, int x) {
  static complex lines[kLinesTogether][kLineMax];
  for (int i = 0; i < kLinesTogether; i++) {
    complex* line = spectrum + ((size_t)y * (size_t)all.x + (size_t)(x + i)) * (size_t)all.z;
    const double decay = decay_x[x + i] * decay_y[rank * own_y + y];
    for (int z = 0; z < all.z; z++) {
      line[z].re *= decay * decay_z[z];
      line[z].im *= decay * decay_z[z];
    }
    memcpy(lines[i], line, (size_t)all.z * sizeof(complex));
    transform(lines[i], all.z);
  }
  for (int z = 0; z < all.z; z++) {
    complex* to = block_of(outgoing, z / own_z) + ((size_t)y * (size_t)own_z + (size_t)(z % own_z)) * (size_t)all.x;
    for (int i = 0; i < kLinesTogether; i++) to[x + i] = lines[i][z];
  }
}

static void evolve(void) {
  make_roots(all.z);
  for (int y = 0; y < own_y; y++) {
    for (int x = 0; x < all.x; x += kLinesTogether) evolve_lines(y, x);
  }
}

static void take_block(int peer) {
  const complex* from = block_of(incoming, peer);
  for (int y = 0; y < own_y; y++) {
    for (int z = 0; z < own_z; z++, from += all.x) {
      complex* line = space + ((size_t)z * (size_t)all.y + (size_t)(peer * own_y + y)) * (size_t)all.x;
      memcpy(line, from, (size_t)all.x * sizeof(complex));
      transform(line, all.x);
    }
  }
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

/* Some lines in y, beside each other in x, of the plane z. */
static void transform_columns(int z, int x) {
  static complex lines[kLinesTogether][kLineMax];
  complex* plane = space + (size_t)z * (size_t)all.y * (size_t)all.x;
  for (int y = 0; y < all.y; y++) {
    for (int i = 0; i < kLinesTogether; i++) lines[i][y] = plane[(size_t)y * (size_t)all.x + (size_t)(x + i)];
  }
  for (int i = 0; i < kLinesTogether; i++) transform(lines[i], all.y);
  for (int y = 0; y < all.y; y++) {
    for (int i = 0; i < kLinesTogether; i++) {
      const size_t index = (size_t)y * (size_t)all.x + (size_t)(x + i);
      plane[index] = lines[i][y];
      hash += (bits_of(plane[index].re) ^ (bits_of(plane[index].im) >> 1)) * (2 * index + 1);
    }
  }
}

/* As FT has it: a sum of a few elements, to rank 0. */
static void sum_samples(void) {
  const size_t plane = (size_t)all.x * (size_t)all.y;
  double sum[2] = {0, 0}, total[2];
  for (size_t i = 0; i < kSamples; i++) {
    const size_t z = 5 * i % (size_t)all.z;
    if ((int)z / own_z != rank) continue;
    const complex value = space[z % (size_t)own_z * plane + 3 * i % (size_t)all.y * (size_t)all.x + i % (size_t)all.x];
    sum[0] += value.re;
    sum[1] += value.im;
  }
  profile_enter();
  MPI_Reduce(sum, total, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  profile_leave();
}

void kernel_iterate(int iteration) {
  (void)iteration;
  const int doubles = 2 * own_y * own_z * all.x; /* of a block */
  evolve();
  profile_enter();
  MPI_Alltoall(outgoing, doubles, MPI_DOUBLE, incoming, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
  profile_leave();
  make_roots(all.x);
  profile_blocks();
  for (int peer = 0; peer < size; peer++) take_block(peer);
  profile_blocks_read();
  make_roots(all.y);
  for (int z = 0; z < own_z; z++) {
    for (int x = 0; x < all.x; x += kLinesTogether) transform_columns(z, x);
  }
  sum_samples();
}

/* Parseval: what the transforms make of a field has as much energy, times the number of points. */
static double energy_of(const complex* field, double weight) {
  const size_t count = (size_t)own_y * (size_t)all.x * (size_t)all.z;
  double own = 0, total = 0;
  for (size_t i = 0; i < count; i++) own += field[i].re * field[i].re + field[i].im * field[i].im;
  own *= weight;
  MPI_Allreduce(&own, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

int kernel_is_right(void) {
  const double points = (double)all.x * all.y * all.z;
  const double expected = energy_of(spectrum, points), actual = energy_of(space, 1);
  return fabs(actual - expected) <= 1e-9 * expected;
}

uint64_t kernel_hash(void) { return mixed(hash + (uint64_t)rank); }
