/** How the processes of a group exchange data. `encrypted-tcp`: as between hosts. */
export const transports = ['shared-memory', 'tcp', 'encrypted-tcp'] as const;
export type Transport = (typeof transports)[number];

export const peerNames = [
  'openmpi',
  'openmpi-tuned',
  'openmpi-nonblocking',
  'mpich',
  'mpich-tuned',
  'mpich-nonblocking',
  'gloo',
  'openmpi-tcp',
  'mpich-tcp',
  'mpi4py',
  'torch',
] as const;
export type PeerName = (typeof peerNames)[number];

/** MPI libraries on which @coll/mpi is measured. */
export const mpiNames = ['openmpi', 'mpich'] as const satisfies readonly PeerName[];
export type MpiName = (typeof mpiNames)[number];

/** The peers of each transport. */
export const peersOver: Readonly<Record<Transport, readonly PeerName[]>> = {
  'shared-memory': ['openmpi', 'openmpi-tuned', 'mpich', 'mpich-tuned', 'mpi4py'],
  tcp: ['openmpi-tcp', 'mpich-tcp', 'gloo', 'torch'],
  'encrypted-tcp': [],
};

/** Peers in Python, which are compared with application-level calls; all others with communicators. */
export const pythonPeers = ['mpi4py', 'torch'] as const satisfies readonly PeerName[];

/** A program in tools/bench/peers. */
export type ProgramName = 'openmpi' | 'mpich' | 'gloo' | 'mpi4py' | 'torch' | 'bound';

/** The program of each peer. Tuned peers are the same program with other settings. */
export const programOf: Readonly<Record<PeerName, ProgramName>> = {
  openmpi: 'openmpi',
  'openmpi-tuned': 'openmpi',
  'openmpi-nonblocking': 'openmpi',
  mpich: 'mpich',
  'mpich-tuned': 'mpich',
  'mpich-nonblocking': 'mpich',
  gloo: 'gloo',
  'openmpi-tcp': 'openmpi',
  'mpich-tcp': 'mpich',
  mpi4py: 'mpi4py',
  torch: 'torch',
};

/** The requirements of a program that is measured beside coll. */
interface Startable {
  readonly source: string;
  /** Commands that must be installed. */
  readonly needs: readonly string[];
  readonly packages: readonly string[];
}

/** A program in C or C++. */
export interface CompiledProgram extends Startable {
  readonly compile: readonly string[];
  /** Linker flags, which follow the source on the command line. */
  readonly link: readonly string[];
  /** A header that the compiler must find. */
  readonly header: string;
}

/** A program in Python. The first of the interpreters that has the modules runs it. */
export interface Script extends Startable {
  readonly interpreters: readonly string[];
  readonly modules: readonly string[];
}

export type Program = CompiledProgram | Script;

const flags = ['-O3', '-march=native', '-Wall', '-Wextra'];

export const programs: Readonly<Record<ProgramName, Program>> = {
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
  mpi4py: {
    source: 'mpi4py_trial.py',
    // Debian's packages are installed for Debian's Python, which may not be the first in PATH.
    interpreters: ['/usr/bin/python3', 'python3'],
    modules: ['mpi4py', 'numpy'],
    needs: ['mpirun.openmpi'],
    packages: ['openmpi-bin', 'python3-mpi4py', 'python3-numpy'],
  },
  torch: {
    source: 'torch_trial.py',
    interpreters: ['/usr/bin/python3', 'python3'],
    modules: ['torch', 'numpy'],
    needs: [],
    packages: ['python3-torch', 'python3-numpy'],
  },
  bound: {
    source: 'bound.c',
    compile: ['cc', ...flags],
    link: ['-pthread'],
    needs: ['cc'],
    header: 'pthread.h',
    packages: ['gcc', 'libc6-dev'],
  },
};
