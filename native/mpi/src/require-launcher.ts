import { RuntimeError } from '@coll/core';
import type { Membership } from '@coll/rendezvous/internal';
import type { Facts } from './mpi-binding.js';

/**
 * A library under the launcher of another MPI does not find the other ranks, and makes one job per
 * process.
 * @throws RuntimeError (ERR_COLL_CLUSTER) if MPI's size is not that of the launcher
 */
export function requireLauncher(facts: Facts, membership: Membership | undefined): void {
  const { size, launcher, rank } = membership ?? {};
  if (size === undefined || launcher === undefined || launcher === 'coll run' || size === facts.size) return;
  const message = `${launcher} started ${size} processes, but ${facts.version} (${facts.path}) sees ${facts.size}`;
  const advice = `the library belongs to another launcher: start the program with the mpirun of ${facts.abi}, or set COLL_MPI_LIB to the library of ${launcher}`;
  throw new RuntimeError('ERR_COLL_CLUSTER', `mpi: ${message}: ${advice}`, { rank, operation: 'start' });
}
