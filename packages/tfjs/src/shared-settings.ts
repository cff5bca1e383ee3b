import { type Exchange, gatherValues, type ReplicaInfo, whichAreEqual } from '@coll/strategy/internal';
import type { OptimizerSettings } from './optimizer-state.js';

/**
 * Sets the optimizers of all replicas to the settings of the first replica that has changed them
 * since all had the same. Returns whether all have the same now.
 * @param isWilling whether this replica takes over settings; if one does not, nothing changes
 */
export function* shareSettings(settings: OptimizerSettings, info: ReplicaInfo, isWilling: boolean): Exchange<boolean> {
  const all = yield* gatherValues({ isWilling, changed: settings.changed ?? null }, info);
  const changed = all.find((replica) => replica.changed !== null)?.changed;
  if (!changed || !all.every((replica) => replica.isWilling)) return false;
  settings.assign(changed);
  const [areEqual] = yield* whichAreEqual([settings.hash]);
  if (areEqual) settings.noteAgreed();
  return areEqual === true;
}
