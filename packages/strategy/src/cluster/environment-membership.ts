import { ValueError } from '@coll/core';
import type { Environment } from './environment.js';
import { Variables } from './environment-variables.js';
import { type Launcher, launchers, statefulSet } from './launchers.js';
import type { Membership } from './membership.js';

/**
 * Who this process is, by its environment variables; undefined where no launcher left any, or `TF_CONFIG` says that it is no member.
 * @param statefulSetService the headless service of the StatefulSet whose pod this is, where no other launcher started it
 * @throws ValueError for variables that are there and make no sense; it names the launcher
 */
export function membershipFrom(environment: Environment, statefulSetService?: string): Membership | undefined {
  const asked = statefulSetService === undefined ? launchers : [...launchers, statefulSet(statefulSetService)];
  const variables = new Variables(environment);
  for (const launcher of asked) {
    if (!launcher.markers.every((marker) => variables.has(marker))) continue;
    const told = toldBy(launcher, variables);
    if (told) return told === 'no member' ? undefined : told;
  }
  return undefined;
}

function toldBy({ name, read }: Launcher, variables: Variables): Membership | 'no member' | undefined {
  try {
    const found = read(variables);
    if (!found || found === 'no member') return found;
    // Not every launcher says how many there are.
    const { rank, size = variables.number('COLL_SIZE') } = found;
    if ((size ?? 0) > mostMembers)
      throw new ValueError('ERR_COLL_CLUSTER', `the number of members must be at most ${mostMembers}, got ${size}`);
    if (rank >= (size ?? Infinity))
      throw new ValueError('ERR_COLL_CLUSTER', `this would be rank ${rank} of ${size}, and ranks count from 0`);
    return { ...nothingElse, ...found, size, launcher: name };
  } catch (cause) {
    if (!(cause instanceof ValueError)) throw cause;
    const told = `this process seems to belong to ${name}, but ${cause.message}`;
    throw new ValueError('ERR_COLL_CLUSTER', told, { cause });
  }
}

// An address is made for each of them.
const mostMembers = 65_536;

const nothingElse = {
  counts: 'processes',
  size: undefined,
  localRank: undefined,
  localSize: undefined,
  coordinator: undefined,
  restarts: undefined,
  addresses: undefined,
} as const;
