! SPDX-License-Identifier: Apache-2.0
!
! Collectives by Fortran's bindings: of `use mpi`, and, with one line changed by the build, of `use mpi_f08`.
program fortran
  use mpi
  implicit none
  integer, parameter :: calls = 10
  integer :: ierror, rank, size, i, wrong
  integer :: sums(3), roots(3)
  double precision :: mine, largest
  complex :: turn, product_of_turns
  logical :: is_first, any_is_first

  wrong = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  do i = 1, calls
    sums = rank + i
    call MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (any(sums /= size * (size - 1) / 2 + size * i)) wrong = wrong + 1
    mine = rank
    largest = -1
    call MPI_Reduce(mine, largest, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0 .and. largest /= size - 1) wrong = wrong + 1
    is_first = rank == 0
    call MPI_Allreduce(is_first, any_is_first, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    if (.not. any_is_first) wrong = wrong + 1
    turn = (0.0, 1.0)
    call MPI_Allreduce(turn, product_of_turns, 1, MPI_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
    if (product_of_turns /= (0.0, 1.0) ** size) wrong = wrong + 1
    roots = rank
    call MPI_Bcast(roots, 3, MPI_INTEGER, 1, MPI_COMM_WORLD, ierror)
    if (any(roots /= 1)) wrong = wrong + 1
  end do
  if (rank == 0) print '(a, i0)', 'wrong: ', wrong
  call MPI_Finalize(ierror)
  if (wrong /= 0) stop 1
end program
