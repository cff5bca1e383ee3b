import { DistributedValues, type Tensor, type Value } from '@coll/core';
import { copyToDevice, viewOnDevice } from '@coll/core/plugin';
import { runAcross } from './contexts.js';
import type { Strategy } from './strategy.js';

/** For each device of this worker copies of all values; `isShared`: those in memory of the host are one for all devices. */
export async function copiesByDevice(
  strategy: Strategy,
  values: readonly Tensor[],
  isShared: boolean,
): Promise<readonly (readonly Value[])[]> {
  const { extended } = strategy;
  const byValue = await Promise.all(
    values.map(async (value) => {
      // Only ops reach the memory of a device that JavaScript does not see.
      if (value.memory) {
        const copies = await runAcross(strategy, () => extended.broadcastTo(value, [...extended.workerDevices]));
        return copies instanceof DistributedValues ? copies.values : [copies as Value];
      }
      const shared = isShared ? copied(value) : undefined;
      return extended.workerDevices.map((device) => viewOnDevice(shared ?? copied(value), device));
    }),
  );
  return extended.workerDevices.map((_, place) => byValue.map((copies) => copies[place] as Value));
}

function copied(value: Tensor): Value {
  return copyToDevice(value, value.device);
}
