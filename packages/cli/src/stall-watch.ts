import { rankList, stallText } from '@coll/core/internal';
import type { Stall } from '@coll/rendezvous';
import { stallReportsIn } from '@coll/rendezvous/internal';
import { tell } from './report.js';
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
  #printed = '';

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
    const text = textOf(this.#stalls, this.#left()) ?? (this.#printed === '' ? undefined : resumed);
    if (text === undefined) return;
    // Prints nothing if only the duration has changed.
    const news = text === resumed ? '' : text.replaceAll(/ for [\d.]+ seconds/g, '');
    if (news !== this.#printed) tell(text);
    this.#printed = news;
  }
}

const resumed = 'no longer stalled: all ranks have resumed';

/**
 * Formats stalls as text, such as `stalled: ranks 0, 1 in all-reduce sum (collective 17) for 60
 * seconds, rank 2 has not arrived`. Undefined if there is nothing to report: a rank may wait for a
 * message for a long time, unless the sender waits as well or has ended.
 */
export function textOf(stalls: ReadonlyMap<number, Stall>, left: readonly number[]): string | undefined {
  const groups = new Map<string, number[]>();
  for (const [rank, { operation, sequence, missing }] of stalls) {
    const isIdle =
      operation.startsWith('receive from ') && !missing.some((one) => stalls.has(one) || left.includes(one));
    if (isIdle) continue;
    const key = JSON.stringify([operation, sequence, missing]);
    groups.set(key, [...(groups.get(key) ?? []), rank]);
  }
  if (groups.size === 0) return undefined;
  const texts = [...groups.values()].map((ranks) => {
    const waiting = ranks.sort((a, b) => a - b);
    const stall = stalls.get(waiting[0] as number) as Stall;
    const seconds = Math.max(...waiting.map((rank) => stalls.get(rank)?.seconds ?? 0));
    const gone = stall.missing.filter((rank) => left.includes(rank));
    const missing = stall.missing.filter((rank) => !left.includes(rank));
    const ended =
      gone.length > 0 ? `, ${rankList(gone)} ${gone.length > 1 ? 'have' : 'has'} ended with exit code 0` : '';
    const quietSeconds = gone.length > 0 ? undefined : stall.quietSeconds;
    return `${stallText({ ...stall, missing, quietSeconds, waiting, seconds })}${ended}`;
  });
  return `stalled: ${texts.join('; ')}`;
}
