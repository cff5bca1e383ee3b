import type { Stall } from '@coll/rendezvous';
import { stallReportsIn } from '@coll/rendezvous/internal';
import { listOf, tell } from './report.js';
import type { StallFile } from './stall-file.js';

/**
 * Milliseconds between reads of the stall file. Ranks report the same stall at nearly the same
 * time, so reading at intervals makes it possible to print their reports together.
 */
const lookMillis = 300;

/**
 * Prints which ranks wait for which others, once these ranks report a long wait, and prints when
 * they resume.
 */
export class StallWatch implements Disposable {
  readonly #stalls = new Map<number, Stall>();
  readonly #file: StallFile;
  readonly #left: () => readonly number[];
  readonly #timer = setInterval(() => this.#look(), lookMillis).unref();
  #isNews = false;
  #told = '';

  /** @param left returns the ranks whose processes have ended without an error */
  constructor(file: StallFile, left: () => readonly number[]) {
    this.#file = file;
    this.#left = left;
    // Drops reports of the previous generation.
    file.lines();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const reports = stallReportsIn(this.#file.lines());
    for (const { rank, stall } of reports) {
      if (stall) this.#stalls.set(rank, stall);
      else this.#stalls.delete(rank);
    }
    if (this.#isNews) this.#tell();
    this.#isNews = reports.length > 0;
  }

  #tell(): void {
    const text = textOf(this.#stalls, this.#left());
    // Prints nothing if only the duration has changed.
    const news = text.replaceAll(/ for [\d.]+ seconds/g, '');
    if (news !== this.#told) tell(text);
    this.#told = news;
  }
}

/**
 * Formats stalls as text, such as `stalled: ranks 0, 1 in all-reduce sum (collective 17) for 60
 * seconds, rank 2 has not arrived`.
 */
export function textOf(stalls: ReadonlyMap<number, Stall>, left: readonly number[]): string {
  if (stalls.size === 0) return 'no longer stalled: all ranks have resumed';
  const groups = new Map<string, number[]>();
  for (const [rank, { operation, sequence, missing }] of stalls) {
    const key = JSON.stringify([operation, sequence, missing]);
    groups.set(key, [...(groups.get(key) ?? []), rank]);
  }
  const told = [...groups.values()].map((ranks) => {
    const sorted = ranks.sort((a, b) => a - b);
    const { operation, sequence, missing } = stalls.get(sorted[0] as number) as Stall;
    const longest = Math.max(...sorted.map((rank) => stalls.get(rank)?.seconds ?? 0));
    const what = sequence === undefined ? operation : `${operation} (collective ${sequence})`;
    return `${listOf(sorted)} in ${what} for ${Math.round(longest)} seconds${missingText(missing, left)}`;
  });
  return `stalled: ${told.join('; ')}`;
}

/**
 * The end of a message about a stall. It names the missing ranks, either as late or as ended. If
 * the missing ranks are unknown, it names all ranks that have ended.
 */
function missingText(missing: readonly number[], left: readonly number[]): string {
  const late = missing.filter((rank) => !left.includes(rank));
  const gone = missing.length === 0 ? left : missing.filter((rank) => left.includes(rank));
  const parts = [
    ...(late.length > 0 ? [`${listOf(late)} ${late.length > 1 ? 'have' : 'has'} not arrived`] : []),
    ...(gone.length > 0 ? [`${listOf(gone)} ${gone.length > 1 ? 'have' : 'has'} ended with exit code 0`] : []),
  ];
  return parts.length === 0 ? '' : `, ${parts.join(', ')}`;
}
