import { ValueError } from '@coll/core';
import type { Environment } from './environment.js';
import { Variables } from './environment-variables.js';
import { type Launcher, launchers, statefulSet } from './launchers.js';
import type { Membership } from './membership.js';

/**
 * This process's membership according to its environment variables. Undefined if no launcher has
 * set variables, or `TF_CONFIG` gives this process a task that is neither chief nor worker.
 * @param statefulSetService the headless service of the StatefulSet that this pod belongs to, used
 * if no launcher has set variables
 * @throws ValueError for invalid variables; the message names the launcher
 *
 * @example
 * ```ts
 * import { membershipFrom } from '@coll/strategy';
 *
 * const membership = membershipFrom({ OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '4' });
 * console.log(membership?.launcher, membership?.rank, membership?.size); // Open MPI 1 4
 * ```
 */
export function membershipFrom(environment: Environment, statefulSetService?: string): Membership | undefined {
  const asked = statefulSetService === undefined ? launchers : [...launchers, statefulSet(statefulSetService)];
  const variables = new Variables(environment);
  for (const launcher of asked) {
    if (!launcher.markers.every((marker) => variables.has(marker))) continue;
    const membership = readMembership(launcher, variables);
    if (membership) return membership === 'no member' ? undefined : membership;
  }
  return undefined;
}

function readMembership({ name, read }: Launcher, variables: Variables): Membership | 'no member' | undefined {
  try {
    const found = read(variables);
    if (!found || found === 'no member') return found;
    // Not every launcher provides the size.
    const { rank, size = variables.number('COLL_SIZE') } = found;
    if ((size ?? 0) > mostMembers)
      throw new ValueError('ERR_COLL_CLUSTER', `the number of members must be at most ${mostMembers}, got ${size}`);
    if (rank >= (size ?? Infinity))
      throw new ValueError(
        'ERR_COLL_CLUSTER',
        `the rank must be from 0 to below the group size, got rank ${rank} of ${size}`,
      );
    return { ...nothingElse, ...found, size, launcher: name };
  } catch (cause) {
    if (!(cause instanceof ValueError)) throw cause;
    const message = `this process seems to be started by ${name}, but ${cause.message}`;
    throw new ValueError('ERR_COLL_CLUSTER', message, { cause });
  }
}

// `EnvironmentClusterResolver` creates an address per member, so their number must be limited.
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
