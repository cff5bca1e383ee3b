import type { Candidate, Registry, Resolution, Situation } from '@coll/core';
import { deviceType } from '@coll/core/plugin';
import { reductionToOne } from '@coll/reduction-to-one';

/**
 * The plug-in used by default: the one with the highest priority, or reduction to one device if the
 * devices have several types, which few libraries support.
 * @throws CollError if no plug-in serves these devices
 */
export async function resolveDefault(registry: Registry, situation: Situation): Promise<Resolution> {
  const types = [...new Set(situation.devices.map(deviceType))];
  if (types.length < 2) return registry.resolve('auto', situation);
  const told = `devices of several types (${types.join(', ')}) are reduced on one device by default`;
  const candidates = registry.list().map(({ name, priority }): Candidate => {
    const verb = name === reductionToOne.name ? 'taken' : 'not asked';
    return { name, priority, reason: `${verb}, because ${told}` };
  });
  return { ...(await registry.resolve(reductionToOne.name, situation)), candidates };
}
