import { mkdtempSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';

export const peerNames = ['openmpi', 'mpich', 'gloo'] as const;
export type PeerName = (typeof peerNames)[number];

/** Another library, and what it takes to compile and start our program for it. */
export interface Peer {
  readonly source: string;
  readonly compile: readonly string[];
  /** Comes after the source that needs it. */
  readonly link: readonly string[];
  /** Commands that must be there. */
  readonly needs: readonly string[];
  /** What the compiler must find. */
  readonly header: string;
  readonly packages: readonly string[];
}

const flags = ['-O3', '-march=native', '-Wall', '-Wextra'];

export const peers: Readonly<Record<PeerName, Peer>> = {
  openmpi: {
    source: 'mpi.c',
    compile: ['mpicc.openmpi', ...flags],
    link: [],
    needs: ['mpicc.openmpi', 'mpirun.openmpi'],
    header: 'mpi.h',
    packages: ['openmpi-bin', 'libopenmpi-dev'],
  },
  mpich: {
    source: 'mpi.c',
    compile: ['mpicc.mpich', ...flags],
    link: [],
    needs: ['mpicc.mpich', 'mpirun.mpich'],
    header: 'mpi.h',
    packages: ['mpich', 'libmpich-dev'],
  },
  gloo: {
    source: 'gloo.cc',
    compile: ['g++', ...flags, '-std=c++17'],
    link: ['-lgloo', '-pthread'],
    needs: ['g++'],
    header: 'gloo/allreduce.h',
    packages: ['g++', 'libgloo-dev'],
  },
};

/** A process to start; its output is read from the first of several. */
export interface Command {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** A folder to remove when all have ended. */
  readonly scratch?: string;
}

/** How a program is started as that many ranks on this machine; makes the folder in which Gloo's find each other. */
export function commandsOf(peer: PeerName, ranks: number, program: readonly string[]): Command[] {
  const isCrowded = ranks > availableParallelism();
  const count = ['-np', String(ranks)];
  switch (peer) {
    case 'openmpi': {
      // More ranks than cores must yield while they wait, which Open MPI does by itself when it is told of it.
      const placing = isCrowded ? ['--oversubscribe', '--bind-to', 'none'] : ['--bind-to', 'core'];
      const env = { OMPI_ALLOW_RUN_AS_ROOT: '1', OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: '1' };
      return [{ argv: ['mpirun.openmpi', ...count, ...placing, ...program], env }];
    }
    case 'mpich':
      // Unbound, two ranks may share a core for whole runs.
      return [{ argv: ['mpirun.mpich', ...count, ...(isCrowded ? [] : ['-bind-to', 'core']), ...program] }];
    case 'gloo': {
      const store = mkdtempSync(path.join(tmpdir(), 'coll-bench-gloo-'));
      return Array.from({ length: ranks }, (_, rank) => {
        const env = { BENCH_RANK: String(rank), BENCH_RANKS: String(ranks), BENCH_STORE: store };
        return { argv: program, env, scratch: store };
      });
    }
  }
}
