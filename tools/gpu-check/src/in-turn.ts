import type { Timing } from './other-program.js';

const warmUps = 5;

/** Times calls of one of the compared programs. */
export type Contestant = (timing: Timing) => Promise<readonly number[]>;

/**
 * The median time of a call of each program, in nanoseconds. Programs run in turn, so that changes of the
 * machine affect all of them. The first round is a warm-up.
 */
export async function inTurn(contestants: readonly Contestant[], rounds: number, timing: Timing): Promise<number[]> {
  const all: number[][] = contestants.map(() => []);
  for (let round = -1; round < rounds; round++) {
    for (const [index, times] of contestants.entries()) {
      const found = await times(timing);
      if (round >= 0) all[index]?.push(...found);
    }
  }
  return all.map(median);
}

/** Times calls of this library in the same way as `c/calls.c` times its calls. */
export function ours(start: (call: number, bytes: number) => Promise<unknown>): Contestant {
  return async ({ bytes, calls, repetitions, isEach }) => {
    const times: number[] = [];
    for (let at = -1; at < repetitions; at++) {
      const count = at < 0 ? warmUps : calls;
      const begin = performance.now();
      if (isEach) for (let call = 0; call < count; call++) await start(call, bytes);
      else await Promise.all(Array.from({ length: count }, (_, call) => start(call, bytes)));
      if (at >= 0) times.push(((performance.now() - begin) * 1e6) / count);
    }
    return times;
  };
}

function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
