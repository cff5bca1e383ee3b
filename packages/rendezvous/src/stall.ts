import { closeSync, constants, openSync, writeSync } from 'node:fs';

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

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Seconds after which a rank reports that it waits, from `COLL_STALL_SECONDS`, which `coll run`
 * sets. Undefined if no launcher reads reports.
 */
export function stallSecondsFrom(environment: Environment = process.env): number | undefined {
  const seconds = Number(environment['COLL_STALL_SECONDS'] || Number.NaN);
  return seconds > 0 && environment['COLL_STALL_FILE'] ? seconds : undefined;
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
    const { operation, sequence, missing, seconds } = stall;
    if (typeof operation !== 'string' || typeof seconds !== 'number' || !Array.isArray(missing)) return undefined;
    if (!missing.every(isRank) || !(sequence === undefined || isRank(sequence))) return undefined;
    return { rank, stall: { operation, sequence, missing, seconds } };
  } catch {
    return undefined;
  }
}

function isRank(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
