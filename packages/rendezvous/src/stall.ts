import { closeSync, constants, openSync, writeSync } from 'node:fs';
import { ValueError } from '@coll/core';
import { quote } from '@coll/core/internal';

/** An operation for which a rank has waited too long. */
export interface Stall {
  /** Name of the operation, such as `all-reduce sum`. */
  readonly operation: string;
  /**
   * Sequence number of the collective in its group, from 0; undefined if the operation is not a
   * collective.
   */
  readonly sequence?: number | undefined;
  /** Ranks that have not arrived; empty if unknown. */
  readonly missing: readonly number[];
  /** Seconds since the event loop of each missing rank has turned. Default: unknown. */
  readonly quietSeconds?: readonly number[] | undefined;
  /** Seconds that the rank has waited so far. */
  readonly seconds: number;
}

/**
 * A rank's report that it has waited too long. If `stall` is undefined, the rank has stopped
 * waiting.
 */
export interface StallReport {
  readonly rank: number;
  readonly stall: Stall | undefined;
}

// The doubled time must fit into a timer of Node.js, 2^31 milliseconds.
const mostSeconds = 1_000_000;

type Environment = Readonly<Record<string, string | undefined>>;

/** Default of `COLL_STALL_SECONDS` and of `coll run --stall-seconds`. */
export const defaultStallSeconds = 30;

/**
 * Seconds after which a rank reports that it waits, from `COLL_STALL_SECONDS` (default: 30).
 * Undefined if the variable is 0, which disables reports.
 * @throws ValueError unless the variable is a number, 0 or more
 */
export function stallSecondsFrom(environment: Environment = process.env): number | undefined {
  const text = environment['COLL_STALL_SECONDS'] || String(defaultStallSeconds);
  const seconds = text.trim() === '' ? Number.NaN : Number(text);
  if (seconds >= 0 && seconds <= mostSeconds) return seconds || undefined;
  const message = `COLL_STALL_SECONDS must be a number of seconds from 0 to ${mostSeconds}, got ${quote(text)}`;
  throw new ValueError('ERR_COLL_VALUE', message);
}

/** Whether a launcher reads the reports of this rank. */
export function hasStallReader({ COLL_STALL_FILE, COLL_RANK }: Environment = process.env): boolean {
  return Boolean(COLL_STALL_FILE && COLL_RANK);
}

/**
 * Reports to the launcher what this rank waits for; `undefined` reports that the rank has stopped
 * waiting. Does nothing if no launcher reads reports, or the launcher has ended. Does not need the
 * event loop, because it appends a line to `COLL_STALL_FILE`, so a rank can report before it
 * blocks.
 *
 * @example
 * ```ts
 * import { reportStall } from '@coll/rendezvous';
 *
 * reportStall({ operation: 'all-reduce sum', missing: [2], seconds: 12 });
 * // ... the missing rank has arrived
 * reportStall(undefined);
 * ```
 */
export function reportStall(stall: Stall | undefined, environment: Environment = process.env): void {
  const { COLL_STALL_FILE: file, COLL_RANK: rank } = environment;
  if (!file || !rank) return;
  try {
    // A deleted file is not created again. Concurrent appends of lines do not mix.
    const descriptor = openSync(file, constants.O_WRONLY | constants.O_APPEND);
    try {
      writeSync(descriptor, `${JSON.stringify({ rank: Number(rank), stall })}\n`);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // Reports are optional, so failures are ignored.
  }
}

/** Parses the reports in the lines of `COLL_STALL_FILE`; skips invalid lines. */
export function stallReportsIn(lines: readonly string[]): readonly StallReport[] {
  return lines.flatMap((line) => parseReport(line) ?? []);
}

// Any rank may write arbitrary text there.
function parseReport(line: string): StallReport | undefined {
  try {
    const { rank, stall } = JSON.parse(line) as Partial<StallReport>;
    if (!isRank(rank)) return undefined;
    if (stall === undefined) return { rank, stall };
    const { operation, sequence, missing, quietSeconds, seconds } = stall;
    if (typeof operation !== 'string' || typeof seconds !== 'number' || !Array.isArray(missing)) return undefined;
    if (!missing.every(isRank) || !(sequence === undefined || isRank(sequence))) return undefined;
    const areSeconds = Array.isArray(quietSeconds) && quietSeconds.every(Number.isFinite);
    if (quietSeconds !== undefined && !areSeconds) return undefined;
    return { rank, stall: { operation, sequence, missing, quietSeconds, seconds } };
  } catch {
    return undefined;
  }
}

function isRank(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
