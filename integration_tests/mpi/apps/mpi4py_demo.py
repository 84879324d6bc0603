#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What mpi4py's demonstrations do: pi, Mandelbrot's set, conjugate gradients, and collectives of objects and buffers.

Rank 0 prints results that depend on the number of ranks alone. An argument is how often all is done.
"""

import array
import math
import sys

from mpi4py import MPI


def pi(comm, intervals):
    """As in cpi-cco.py: everyone learns how many intervals there are, and adds up its share."""
    intervals = comm.bcast(intervals if comm.rank == 0 else None)
    width = 1.0 / intervals
    mine = sum(4.0 / (1.0 + ((i + 0.5) * width)**2) for i in range(comm.rank, intervals, comm.size))
    total = array.array("d", [0.0])
    comm.Reduce(array.array("d", [mine * width]), total, op=MPI.SUM, root=0)
    return total[0]


def mandelbrot(comm, width, height):
    """As in mandelbrot.py: lines are dealt out, and gathered with different counts. Iterations in all."""

    def escapes_after(point):
        value = 0j
        for i in range(64):
            value = value * value + point
            if abs(value) > 2:
                return i
        return 64

    lines = range(comm.rank, height, comm.size)
    mine = array.array("i", [
        escapes_after(complex(-2 + 3 * x / width, -1.25 + 2.5 * y / height)) for y in lines for x in range(width)
    ])
    counts = comm.gather(len(mine))
    if comm.rank != 0:
        comm.Gatherv(mine, None)
        return None
    image = array.array("i", [0] * (width * height))
    comm.Gatherv(mine, [image, counts])
    return sum(image)


def conjugate_gradients(comm, unknowns):
    """Solves (2 on the diagonal, -1 beside it) x = 1, a block of rows a rank; how far from the known solution."""
    first = unknowns * comm.rank // comm.size
    rows = unknowns * (comm.rank + 1) // comm.size - first
    counts = comm.allgather(rows)

    def times_matrix(vector):
        whole = array.array("d", [0.0] * unknowns)
        comm.Allgatherv(vector, [whole, counts])
        row = [0.0] + list(whole) + [0.0]
        return array.array("d", [2 * row[i + 1] - row[i] - row[i + 2] for i in range(first, first + rows)])

    def dot(one, other):
        total = array.array("d", [sum(a * b for a, b in zip(one, other))])
        comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
        return total[0]

    solution = array.array("d", [0.0] * rows)
    residual = array.array("d", [1.0] * rows)
    direction = array.array("d", residual)
    norm = dot(residual, residual)
    for _ in range(unknowns):
        if norm < 1e-20:
            break
        product = times_matrix(direction)
        step = norm / dot(direction, product)
        for i in range(rows):
            solution[i] += step * direction[i]
            residual[i] -= step * product[i]
        last, norm = norm, dot(residual, residual)
        for i in range(rows):
            direction[i] = residual[i] + norm / last * direction[i]
    exact = ((i + 1) * (unknowns - i) / 2 for i in range(first, first + rows))
    return comm.allreduce(max(abs(a - b) for a, b in zip(solution, exact)), op=MPI.MAX)


def objects(comm):
    """Collectives of Python's objects, with an operation of the program's too."""
    rank, size = comm.rank, comm.size
    shares = comm.scatter([{"rank": i, "text": "x" * 100 * i} for i in range(size)] if rank == 0 else None)
    assert shares == {"rank": rank, "text": "x" * 100 * rank}
    assert comm.alltoall([(rank, i) for i in range(size)]) == [(i, rank) for i in range(size)]
    assert comm.allgather(str(rank)) == [str(i) for i in range(size)]
    words = comm.allreduce([f"r{rank}"], op=MPI.SUM)
    return [words, comm.scan(rank + 1), comm.reduce(rank, op=MPI.MAX), comm.exscan(rank + 1)]


def own_operation(comm):
    """The greatest common divisors of what all ranks have, by an operation of this program."""

    def divisors(ours, result, _):
        both = zip(memoryview(ours).cast("q"), memoryview(result).cast("q"))
        memoryview(result).cast("q")[:] = array.array("q", [math.gcd(*pair) for pair in both])

    operation = MPI.Op.Create(divisors, commute=True)
    found = array.array("q", [0] * 4)
    comm.Allreduce(array.array("q", [(comm.rank + 2) * common for common in (6, 35, 1, 1024)]), found, op=operation)
    operation.Free()
    return list(found)


def groups(comm):
    """Communicators within communicators: sums over rows and columns of a grid."""
    grid = comm.Create_cart(MPI.Compute_dims(comm.size, 2), periods=[True, False])
    sums = []
    for keep in ([True, False], [False, True]):
        line = grid.Sub(keep)
        values = array.array("q", [grid.rank + 1] * 3)
        total = array.array("q", [0] * 3)
        for _ in range(8):
            line.Allreduce(values, total)
        sums.append(list(total))
        line.Free()
    everyone = grid.gather(sums)
    grid.Free()
    halves = comm.Split(comm.rank % 2, comm.rank)
    request = halves.Ibarrier()
    ranks = halves.allgather(comm.rank)
    request.Wait()
    halves.Free()
    return [everyone, ranks]


def main():
    comm = MPI.COMM_WORLD
    for turn in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1):
        results = [
            f"pi {pi(comm, 1000):.12f}", f"mandelbrot {mandelbrot(comm, 48, 32)}",
            f"conjugate gradients {conjugate_gradients(comm, 64):.6f}", f"objects {objects(comm)}",
            f"own operation {own_operation(comm)}", f"groups {groups(comm)}"
        ]
        comm.Barrier()
        if comm.rank == 0:
            print("\n".join(f"{turn}: {result}" for result in results), flush=True)


if __name__ == "__main__":
    main()
