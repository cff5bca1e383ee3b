import { RuntimeError } from '@coll/core';
import { membershipFrom } from '@coll/rendezvous/internal';
import { expect, it } from 'vitest';
import type { Facts } from './mpi-binding.js';
import { requireLauncher } from './require-launcher.js';

const facts = (size: number): Facts => ({
  abi: 'MPICH',
  version: 'MPICH 4',
  path: '/lib/libmpich.so.12',
  how: 'the first that opened',
  rank: 0,
  size,
  localRanks: size,
  hosts: new Array<string>(size).fill('node1'),
});
const openMpi = membershipFrom({ OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' });

it('accepts a library that sees as many ranks as the launcher has started', () => {
  requireLauncher(facts(4), openMpi);
});

it('accepts any number of ranks without a launcher, and under coll run, which starts no ranks of MPI', () => {
  requireLauncher(facts(1), undefined);
  requireLauncher(facts(1), membershipFrom({ COLL_RANK: '0', COLL_SIZE: '2' }));
});

it('refuses the library of another launcher, and says what to do', () => {
  const advice = 'start the program with the mpirun of MPICH, or set COLL_MPI_LIB to the library of Open MPI';
  const message = 'mpi: Open MPI started 4 processes, but MPICH 4 (/lib/libmpich.so.12) sees 1';
  let error: unknown;
  try {
    requireLauncher(facts(1), openMpi);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(RuntimeError);
  expect(error).toMatchObject({
    code: 'ERR_COLL_CLUSTER',
    rank: 1,
    message: `${message}: the library belongs to another launcher: ${advice}`,
  });
});
