import { ValueError } from '@coll/core';
import type { Environment } from './environment.js';
import { Variables } from './environment-variables.js';
import { launchers, statefulSet } from './launchers.js';
import type { Membership } from './membership.js';

/**
 * Who this process is, by its environment variables; undefined where no launcher left any.
 * @param statefulSetService the headless service of the StatefulSet whose pod this is, where no other launcher started it
 * @throws ValueError for variables that are there and make no sense
 */
export function membershipFrom(environment: Environment, statefulSetService?: string): Membership | undefined {
  const asked = statefulSetService === undefined ? launchers : [...launchers, statefulSet(statefulSetService)];
  for (const { name, markers, read } of asked) {
    const variables = new Variables(environment, name);
    if (!markers.every((marker) => variables.has(marker))) continue;
    const found = read(variables);
    if (!found) continue;
    // Not every launcher says how many there are.
    const { rank, size = variables.number('COLL_SIZE') } = found;
    if (size !== undefined && rank >= size) {
      const told = `${name} says that this is rank ${rank} of ${size}; ranks count from 0`;
      throw new ValueError('ERR_COLL_CLUSTER', told);
    }
    return { ...nothingElse, ...found, size, launcher: name };
  }
  return undefined;
}

const nothingElse = {
  counts: 'processes',
  size: undefined,
  localRank: undefined,
  localSize: undefined,
  coordinator: undefined,
  restarts: undefined,
  addresses: undefined,
} as const;
