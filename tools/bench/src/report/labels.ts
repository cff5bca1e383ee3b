import type { EngineName } from '@coll/core';
import type { PeerName } from '../peers/peers.js';

/** What readers call what is measured. */
export const labels: Readonly<Record<EngineName | PeerName | 'bound', string>> = {
  native: 'coll, native',
  wasm: 'coll, WebAssembly',
  js: 'coll, JavaScript',
  openmpi: 'Open MPI',
  'openmpi-tuned': 'Open MPI, tuned',
  'openmpi-nonblocking': 'Open MPI, non-blocking',
  mpich: 'MPICH',
  'mpich-tuned': 'MPICH, tuned',
  'mpich-nonblocking': 'MPICH, non-blocking',
  gloo: 'Gloo',
  'openmpi-tcp': 'Open MPI, TCP',
  'mpich-tcp': 'MPICH, TCP',
  mpi4py: 'mpi4py',
  torch: 'PyTorch with Gloo',
  bound: 'memory bound',
};

/** The networks whose gradients are measured. */
export const networks: Readonly<Record<string, string>> = {
  resnet50: 'ResNet-50',
  'bert-base': 'BERT-base',
  'gpt2-small': 'GPT-2 small',
};
