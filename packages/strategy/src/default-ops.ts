import type { Candidate, Registry, Resolution, Situation } from '@coll/core';
import { deviceType } from '@coll/core/plugin';
import { reductionToOne } from '@coll/reduction-to-one';

/**
 * Which plug-in serves where none was asked for: the most wanted one, or for devices of several types reduction to one device, as
 * few libraries reach all of them.
 * @throws CollError where none serves these devices
 */
export async function resolveDefault(registry: Registry, situation: Situation): Promise<Resolution> {
  const types = [...new Set(situation.devices.map(deviceType))];
  if (types.length < 2) return registry.resolve('auto', situation);
  const told = `by default devices of several types (${types.join(', ')}) are reduced on one of them`;
  const candidates = registry.list().map(({ name, priority }): Candidate => {
    const verb = name === reductionToOne.name ? 'taken' : 'not asked';
    return { name, priority, reason: `${verb}, because ${told}` };
  });
  return { ...(await registry.resolve(reductionToOne.name, situation)), candidates };
}
