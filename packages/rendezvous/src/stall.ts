import { closeSync, constants, openSync, writeSync } from 'node:fs';

/** What a rank waits for, longer than it should. */
export interface Stall {
  /** Such as `all-reduce sum`. */
  readonly operation: string;
  /** Which of the group's collectives it is, from 0; absent for what is none. */
  readonly sequence?: number | undefined;
  /** Ranks that have not come; none where that is not known. */
  readonly missing: readonly number[];
  /** How long it has waited so far. */
  readonly seconds: number;
}

/** What one rank said: what it waits for, or that it goes on. */
export interface StallReport {
  readonly rank: number;
  readonly stall: Stall | undefined;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * After how long a wait is to be reported: `COLL_STALL_SECONDS`, which `coll run` sets. Undefined where nobody reads reports.
 */
export function stallSecondsFrom(environment: Environment = process.env): number | undefined {
  const seconds = Number(environment['COLL_STALL_SECONDS'] || Number.NaN);
  return seconds > 0 && environment['COLL_STALL_FILE'] ? seconds : undefined;
}

/**
 * Tells the launcher what this rank waits for; undefined: it goes on. Does nothing where nobody reads reports, or where the launcher has ended. It needs no event loop, so that
 * a rank can tell before it blocks: a report is a line in `COLL_STALL_FILE`.
 */
export function reportStall(stall: Stall | undefined, environment: Environment = process.env): void {
  const { COLL_STALL_FILE: file, COLL_RANK: rank } = environment;
  if (!file || !rank) return;
  try {
    // A file that is gone is not made anew. Lines that are appended at once do not mix.
    const descriptor = openSync(file, constants.O_WRONLY | constants.O_APPEND);
    try {
      writeSync(descriptor, `${JSON.stringify({ rank: Number(rank), stall })}\n`);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    // A report is a courtesy, and its failure nobody's concern.
  }
}

/** The reports in lines of such a file; what is none is left out. */
export function stallReportsIn(lines: readonly string[]): readonly StallReport[] {
  return lines.flatMap((line) => parseReport(line) ?? []);
}

// Any rank may write anything there.
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
