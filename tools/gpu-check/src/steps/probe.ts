import { statfsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { probe } from '@coll/nccl';
import type { Step } from '../step.js';

const prefixes = ['NCCL_', 'CUDA_', 'COLL_'];

/** Driver, NCCL, GPU, and what NCCL wants of the machine. */
export const probeStep: Step = {
  claim: 'driver and NCCL are found, opened and asked',
  seconds: 120,
  async run() {
    const found = probe();
    if (!found.available) throw new Error(found.reason);
    const { bsize, blocks } = statfsSync('/dev/shm');
    const variables = Object.entries(process.env).filter(([name]) =>
      prefixes.some((prefix) => name.startsWith(prefix)),
    );
    return {
      driver: found.driver,
      nccl: found.nccl,
      devices: found.devices,
      sharedMemoryBytes: bsize * blocks,
      hasLoopback: Object.keys(networkInterfaces()).includes('lo'),
      node: process.version,
      environment: Object.fromEntries(variables),
    };
  },
};
