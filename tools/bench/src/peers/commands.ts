import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import type { PeerName } from './peers.js';

/** A process to start; its output is read from the first of several. */
export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder to remove when all have ended. */
  readonly scratch?: string;
}

// glibc gives memory above a threshold back at once, so that MPI maps and touches new scratch memory in every large call.
const keepsMemory = 'glibc.malloc.mmap_threshold=4294967296:glibc.malloc.trim_threshold=17179869184';

// The back-off of @coll/mpi (native/mpi/cpp/engine/backoff.h), as mpi.c reads it.
const backoffs = { withCores: '1000,4000,50', crowded: '20,2000,50' };

// Open MPI leaves loopback out unless it is told; MPICH takes shared memory within a host.
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

/** How a program is started as that many ranks on this machine; makes the folder in which those with Gloo find each other. */
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
  // More ranks than cores must yield while they wait, which Open MPI does by itself when it is told of it.
  const placing = isCrowded ? ['--oversubscribe', '--bind-to', 'none'] : ['--bind-to', 'core'];
  const env = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };
  return { argv: ['mpirun.openmpi', '-np', String(ranks), ...placing, ...setting, ...program], env };
}

function mpich(ranks: number, isCrowded: boolean, setting: readonly string[], program: readonly string[]): Command {
  // Unbound, two ranks may share a core for whole runs.
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
