import { log } from '@coll/core/internal';
import {
  type Calibration,
  calibration,
  describeCalibration,
  listOf,
  type NativeBinding,
  thresholdsOf,
  usualThresholds,
} from '@coll/native/addon';

/**
 * The thresholds that rank 0 proposes for a group in shared memory. Measures a machine that is not
 * cached. A group of one rank needs none.
 */
export function proposedThresholds(binding: NativeBinding, size: number): Calibration | undefined {
  return size === 1 ? undefined : calibration(binding);
}

/** The thresholds of all members: those that rank 0 has proposed, or the usual ones if its proposal is not valid. */
export function agreedThresholds(proposed: unknown): Calibration {
  const { thresholds, source, detail } = Object(proposed) as Partial<Calibration>;
  const known = thresholdsOf(thresholds && listOf(thresholds));
  if (known && source && typeof detail === 'string') return { thresholds: known, source, detail };
  return { thresholds: usualThresholds, source: 'usual', detail: 'rank 0 has not measured' };
}

/** Logs if a member that states thresholds of its own gets others. */
export function reportOverruled(own: Calibration | undefined, agreed: Calibration, rank: number): void {
  if (!own || listOf(own.thresholds).join() === listOf(agreed.thresholds).join()) return;
  const message = `rank ${rank} uses the thresholds of rank 0 instead of its own`;
  log('warn', `${message}: ${describeCalibration(agreed)}; state the same on all ranks (own: ${own.detail})`);
}
