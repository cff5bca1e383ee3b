import {
  type CommunicationOptions,
  type CrossDeviceOps,
  type ProcessGroup,
  type Resolution,
  ValueError,
} from '@coll/core';
import { workerCountOf } from '@coll/core/internal';
import { acrossWorkers } from '@coll/multi-worker';
import type { OpsChoice } from '../choice/ops-choice.js';

/**
 * The name of the chosen ops, which must be equal on all workers.
 * @throws ValueError (ERR_COLL_REFUSED) for ops that cannot serve this number of workers; CollError
 * if no plug-in serves the devices
 */
export async function nameForWorkers(choice: OpsChoice, workers: number): Promise<string> {
  const { given } = choice;
  if (!given) return requireForWorkers(await choice.here(), workers);
  if (workers > 1 && workerCountOf(given) !== workers)
    throw refused(given.name, 'the ops object combines the values of one worker', passPlugin);
  return given.name;
}

/**
 * The chosen ops, for the devices of all workers.
 * @throws ValueError (ERR_COLL_REFUSED) for ops that would leave out the values of other workers
 */
export async function opsAcrossWorkers(
  choice: OpsChoice,
  devices: readonly string[],
  group: ProcessGroup,
  options: CommunicationOptions,
): Promise<CrossDeviceOps> {
  if (choice.given) return choice.given;
  const { plugin, options: own } = await choice.here();
  return acrossWorkers((world) => plugin.create(own as never, world), {
    group,
    devices,
    options,
    engine: choice.engine,
  });
}

const passPlugin = 'pass its plug-in, { name, options } or a registered name, so that its ops are made for all workers';

function requireForWorkers({ plugin: { name, capabilities } }: Resolution, workers: number): string {
  if (workers === 1) return name;
  if (name === 'nccl')
    throw refused(
      name,
      'the strategy uses it itself',
      "omit crossDeviceOps, and set communicationOptions: { implementation: 'NCCL' }",
    );
  if (capabilities?.severalTasks)
    throw refused(
      name,
      'its ops need the group of workers',
      'omit crossDeviceOps, or pass an ops object that was created with the option group',
    );
  return name;
}

function refused(name: string, why: string, advice: string): ValueError {
  const message = `crossDeviceOps: "${name}" cannot serve several workers in this way, because ${why}: ${advice}`;
  return new ValueError('ERR_COLL_REFUSED', message, { operation: 'start' });
}
