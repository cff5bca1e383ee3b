import type { Store } from './store.js';

/** What a member of a group waits for, longer than it should. */
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

/** What one member said: what it waits for, or that it goes on. */
export interface StallReport {
  readonly rank: number;
  readonly stall: Stall | undefined;
}

/** Whose report it is. */
export interface StallMember {
  readonly generation: number;
  readonly rank: number;
}

const keyOf = (generation: number, index: number | 'count') => `stall/${generation}/${index}`;

/**
 * After how long a wait is to be reported: `COLL_STALL_SECONDS`, which `coll run` sets. Undefined where nobody reads reports.
 */
export function stallSecondsFrom(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): number | undefined {
  const seconds = Number(environment['COLL_STALL_SECONDS'] || Number.NaN);
  return seconds > 0 ? seconds : undefined;
}

/** Tells whoever reads them what a member waits for; undefined: it goes on. Throws what the store throws. */
export async function reportStall(store: Store, member: StallMember, stall: Stall | undefined): Promise<void> {
  const { generation, rank } = member;
  const index = (await store.add(keyOf(generation, 'count'), 1)) - 1;
  await store.set(keyOf(generation, index), Buffer.from(JSON.stringify({ rank, stall })));
}

/** The reports of a generation as they come, until the signal ends it: for one reader, which takes them out of the store. */
export async function* readStalls(store: Store, generation: number, signal: AbortSignal): AsyncGenerator<StallReport> {
  for (let index = 0; !signal.aborted; index++) {
    let report: StallReport | undefined;
    try {
      report = parseReport(await store.get(keyOf(generation, index), { signal }));
      await store.delete(keyOf(generation, index));
    } catch {
      // The store is closed, or nobody wants to know any more.
      return;
    }
    if (report) yield report;
  }
}

// Any member may write anything there.
function parseReport(value: Uint8Array): StallReport | undefined {
  try {
    const { rank, stall } = JSON.parse(Buffer.from(value).toString('utf8')) as Partial<StallReport>;
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
