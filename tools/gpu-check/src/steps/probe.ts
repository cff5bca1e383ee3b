import { spawnSync } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { probe } from '@coll/nccl';
import type { Step } from '../step.js';

const prefixes = ['NCCL_', 'CUDA_', 'COLL_'];

/** Reports the driver, NCCL, the GPU, and the settings of the machine that affect NCCL. */
export const probeStep: Step = {
  claim: 'driver and NCCL are found, opened and asked',
  seconds: 60,
  async run() {
    const found = probe();
    if (!found.available) throw new Error(found.reason);
    const variables = Object.entries(process.env).filter(
      ([name]) => prefixes.some((prefix) => name.startsWith(prefix)) && name !== 'COLL_JOB_KEY',
    );
    const facts = {
      driver: found.driver,
      nccl: found.nccl,
      devices: found.devices,
      sharedMemoryBytes: orNothing(sharedMemoryBytes),
      hasLoopback: orNothing(() => Object.keys(networkInterfaces()).includes('lo')),
      node: process.version,
      nvidiaSmi: nvidiaSmi(),
      environment: Object.fromEntries(variables),
    };
    return { facts };
  },
};

function sharedMemoryBytes(): number {
  const { bsize, blocks } = statfsSync('/dev/shm');
  return bsize * blocks;
}

/** Facts that a machine does not report do not stop the checks. */
function orNothing<T>(ask: () => T): T | string {
  try {
    return ask();
  } catch (error) {
    return `unknown: ${(error as Error).message}`;
  }
}

/** The clocks and the load of the GPU; undefined without nvidia-smi. */
function nvidiaSmi(): string | undefined {
  const wanted =
    'driver_version,persistence_mode,clocks.sm,clocks.mem,utilization.gpu,memory.used,power.draw,compute_mode';
  const args = [`--query-gpu=${wanted}`, '--format=csv'];
  const { status, stdout } = spawnSync('nvidia-smi', args, { encoding: 'utf8', timeout: 10_000 });
  return status === 0 ? stdout.trim() : undefined;
}
