import type { Exchange } from './exchange.js';

type Numbers = Float64Array | Uint8Array;

/** Executes the exchanges of all replicas in step, in one thread. */
export function together<Result>(exchanges: readonly Exchange<Result>[]): Result[] {
  for (;;) {
    const states = exchanges.map((exchange) => exchange.next());
    if (states[0]?.done) return states.map(({ value }) => value as Result);
    const requests = states.map(({ value }) => value as Exclude<typeof value, Result>) as never as {
      readonly op: 'max' | 'sum';
      readonly values: readonly Numbers[];
      readonly into: readonly Numbers[];
    }[];
    const combine = { max: Math.max, sum: (a: number, b: number) => a + b }[requests[0]?.op as 'max' | 'sum'];
    const all = requests.map(({ values }) => values[0] as Numbers);
    const result = (all[0] as Numbers).map((_, at) =>
      all.map((one) => one[at] as number).reduce((a, b) => combine(a, b)),
    );
    for (const { into } of requests) into[0]?.set(result);
  }
}
