import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import type { PeerName } from './peers.js';

/** A process to start. If there are several, the output of the first one is read. */
export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder to remove after all processes have ended. */
  readonly scratch?: string;
}

// By default, glibc frees large memory at once, so MPI maps and touches new scratch memory in every large call.
const keepsMemory = 'glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184';

// The back-off of @coll/mpi (native/mpi/cpp/engine/backoff.h), in the format of mpi.c.
const backoffs = { withCores: '1000,4000,50', crowded: '20,2000,50' };

// By default, Open MPI does not use loopback, and MPICH uses shared memory within a host.
const openmpiOverTcp = ['--mca', 'pml', 'ob1', '--mca', 'btl', 'tcp,self', '--mca', 'btl_tcp_if_include', 'lo'];
const mpichOverTcp = [
  ...['-genv', 'MPIR_CVAR_NOLOCAL', '1'],
  ...['-genv', 'UCX_TLS', 'tcp,self'],
  ...['-genv', 'UCX_NET_DEVICES', 'lo'],
];

type Nonblocking = 'openmpi-nonblocking' | 'mpich-nonblocking';

const settings: Readonly<Record<Exclude<PeerName, 'gloo' | 'torch' | Nonblocking>, readonly string[]>> = {
  openmpi: [],
  mpi4py: [],
  'openmpi-tuned': ['-x', `GLIBC_TUNABLES=${keepsMemory}`],
  'openmpi-tcp': openmpiOverTcp,
  mpich: [],
  'mpich-tuned': ['-genv', 'GLIBC_TUNABLES', keepsMemory],
  'mpich-tcp': mpichOverTcp,
};

/**
 * The commands that start a program as `ranks` ranks on this machine. For Gloo, makes the folder in which
 * the ranks find each other.
 */
export function commandsOf(peer: PeerName | 'bound', ranks: number, program: readonly string[]): Command[] {
  const isCrowded = ranks > availableParallelism();
  const backoff = isCrowded ? backoffs.crowded : backoffs.withCores;
  switch (peer) {
    case 'openmpi':
    case 'openmpi-tuned':
    case 'openmpi-tcp':
    case 'mpi4py':
      return [openmpi(ranks, isCrowded, settings[peer], program)];
    case 'mpich':
    case 'mpich-tuned':
    case 'mpich-tcp':
      return [mpich(ranks, isCrowded, settings[peer], program)];
    case 'openmpi-nonblocking':
      return [openmpi(ranks, isCrowded, ['-x', `BENCH_BACKOFF=${backoff}`], program)];
    case 'mpich-nonblocking':
      return [mpich(ranks, isCrowded, ['-genv', 'BENCH_BACKOFF', backoff], program)];
    case 'gloo':
    case 'torch':
      return gloo(ranks, program);
    case 'bound':
      return [{ argv: program, env: { BENCH_RANKS: String(ranks) } }];
  }
}

function openmpi(ranks: number, isCrowded: boolean, setting: readonly string[], program: readonly string[]): Command {
  // Ranks that share cores must yield while they wait. Open MPI does this if it knows that there are more ranks than
  // cores.
  const placing = isCrowded ? ['--oversubscribe', '--bind-to', 'none'] : ['--bind-to', 'core'];
  const env = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };
  return { argv: ['mpirun.openmpi', '-np', String(ranks), ...placing, ...setting, ...program], env };
}

function mpich(ranks: number, isCrowded: boolean, setting: readonly string[], program: readonly string[]): Command {
  // Without binding, two ranks may share a core for a whole run.
  const placing = isCrowded ? [] : ['-bind-to', 'core'];
  return { argv: ['mpirun.mpich', '-np', String(ranks), ...placing, ...setting, ...program] };
}

function gloo(ranks: number, program: readonly string[]): Command[] {
  const store = mkdtempSync(path.join(tmpdir(), 'coll-bench-gloo-'));
  return Array.from({ length: ranks }, (_, rank) => {
    const env = { BENCH_RANK: String(rank), BENCH_RANKS: String(ranks), BENCH_STORE: store };
    return { argv: program, env, scratch: store };
  });
}
