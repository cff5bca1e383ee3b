import type { EngineName } from '@coll/core';
import type { PeerName } from '../peers/peers.js';

export type SubjectName = EngineName | PeerName | 'bound';

/** The names of measured libraries and engines, and their colors in all pictures. */
export const subjects: Readonly<Record<SubjectName, { readonly label: string; readonly color: string }>> = {
  native: { label: 'coll, native', color: '#d1242f' },
  wasm: { label: 'coll, WebAssembly', color: '#bf8700' },
  js: { label: 'coll, JavaScript', color: '#8250df' },
  openmpi: { label: 'Open MPI', color: '#0969da' },
  'openmpi-tuned': { label: 'Open MPI, tuned', color: '#54aeff' },
  'openmpi-nonblocking': { label: 'Open MPI, non-blocking', color: '#80ccff' },
  mpich: { label: 'MPICH', color: '#1a7f37' },
  'mpich-tuned': { label: 'MPICH, tuned', color: '#6fdd8b' },
  'mpich-nonblocking': { label: 'MPICH, non-blocking', color: '#aceebb' },
  gloo: { label: 'Gloo', color: '#6e7781' },
  'openmpi-tcp': { label: 'Open MPI, TCP', color: '#0550ae' },
  'mpich-tcp': { label: 'MPICH, TCP', color: '#116329' },
  mpi4py: { label: 'mpi4py', color: '#bc4c00' },
  torch: { label: 'PyTorch with Gloo', color: '#953800' },
  bound: { label: 'memory bound', color: '#1f2328' },
};

/** Libraries with their measured settings, of which the faster one counts. */
export const libraries: readonly (readonly [name: PeerName, settings: readonly PeerName[]])[] = [
  ['openmpi', ['openmpi', 'openmpi-tuned']],
  ['mpich', ['mpich', 'mpich-tuned']],
  ['gloo', ['gloo']],
];

/** The networks whose gradients are measured. */
export const networks: Readonly<Record<string, string>> = {
  resnet50: 'ResNet-50',
  'bert-base': 'BERT-base',
  'gpt2-small': 'GPT-2 small',
};
