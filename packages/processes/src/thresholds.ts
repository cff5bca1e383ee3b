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
 * Encodes the thresholds for a group whose members share memory. Rank 0 decides for all members,
 * and measures a machine that is not cached while they wait; other members send nothing.
 */
export function encodeThresholds(binding: NativeBinding, rank: number, size: number): Uint8Array {
  if (rank !== 0 || size === 1) return Buffer.of();
  return Buffer.from(JSON.stringify(calibration(binding)));
}

/** Decodes the thresholds of rank 0. All members get the same: the usual ones if rank 0 has sent none. */
export function decodeThresholds(message: Uint8Array | undefined): Calibration {
  const { thresholds, source, detail } = parsed(message);
  const known = thresholdsOf(thresholds && listOf(thresholds));
  if (known && source && typeof detail === 'string') return { thresholds: known, source, detail };
  return { thresholds: usualThresholds, source: 'usual', detail: 'rank 0 has not measured' };
}

/** Logs if a member that states thresholds of its own gets others. */
export function reportOverruled(own: Calibration | undefined, agreed: Calibration, rank: number): void {
  if (!own || listOf(own.thresholds).join() === listOf(agreed.thresholds).join()) return;
  const told = `rank ${rank} uses the thresholds of rank 0 instead of its own`;
  log('warn', `${told}: ${describeCalibration(agreed)}; state the same on all ranks (own: ${own.detail})`);
}

function parsed(message: Uint8Array | undefined): Partial<Calibration> {
  try {
    return Object(JSON.parse(Buffer.from(message ?? []).toString('utf8'))) as Partial<Calibration>;
  } catch {
    return {};
  }
}
