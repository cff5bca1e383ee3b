import type { CollectiveKind } from '@coll/core';
import { cost, type LinkTimes, type Schedule } from '@coll/core/schedule';

/** Of links of one kind, all of them; `LinkTimes` has those of a message and of a byte. */
interface AllTimes extends LinkTimes {
  /** Seconds that a rank takes for each message that it sends or receives. */
  readonly overhead: number;
}

/** How fast the links of a group are. */
export interface LinkModel {
  /** Seconds that any collective takes before its first round, whatever is played. */
  readonly start: number;
  /** Seconds that a rank takes to combine a byte. */
  readonly gamma: number;
  /** Between hosts; between all ranks where there is one kind of links. */
  readonly across: AllTimes;
  /** Between the ranks of a host, where these have links of their own. Ranks are numbered host by host, as many on each. */
  readonly within?: (AllTimes & { readonly ranksPerWorker: number }) | undefined;
}

/** What was played, and how long it took. */
export interface Sample {
  readonly kind: CollectiveKind;
  readonly schedule: Schedule;
  /** Of the whole buffer that the chunks cut. */
  readonly bytes: number;
  readonly seconds: number;
}

/** Seconds that a schedule is to take. */
export function predict(
  { start, gamma, across, within }: LinkModel,
  { kind, schedule, bytes }: Omit<Sample, 'seconds'>,
): number {
  return start + cost(schedule, { kind, bytes, gamma, ...across, workers: within }).seconds;
}

/** How many numbers a model is. */
export const modelLength = 9;

/** A model as numbers, which `modelFrom` reads: they travel to other ranks. */
export function numbersOf({ start, gamma, across, within }: LinkModel): number[] {
  const { ranksPerWorker, alpha, beta, overhead } = within ?? { ranksPerWorker: 0, alpha: 0, beta: 0, overhead: 0 };
  return [start, gamma, across.alpha, across.beta, across.overhead, alpha, beta, overhead, ranksPerWorker];
}

/** The inverse of `numbersOf`. */
export function modelFrom(numbers: readonly number[]): LinkModel {
  const [start, gamma, alpha, beta, overhead, ...near] = numbers as Nine;
  const across = { alpha, beta, overhead };
  if (near[3] === 0) return { start, gamma, across };
  return {
    start,
    gamma,
    across,
    within: { alpha: near[0], beta: near[1], overhead: near[2], ranksPerWorker: near[3] },
  };
}

type Nine = readonly [number, number, number, number, number, number, number, number, number];

// Of a link in memory: where fitting begins. Nothing takes no time at all, so that fewer rounds and bytes are always better.
const usual: LinkModel = { start: 1e-6, gamma: 1e-10, across: { alpha: 1e-6, beta: 1e-10, overhead: 1e-6 } };
const least = 1e-3;

// A model of links of one kind is linear in its numbers; where there are two kinds, which of them is waited for depends on the numbers themselves.
const passesOfTwoKinds = 4;
const sweeps = 400;

/**
 * The model that tells what was measured best, by the squares of relative errors; no number of it is negative. `ranksPerWorker` is given where the ranks of
 * a host have links of their own.
 */
export function fit(samples: readonly Sample[], ranksPerWorker?: number): LinkModel {
  const first = ranksPerWorker === undefined ? usual : { ...usual, within: { ...usual.across, ranksPerWorker } };
  const floor = numbersOf(first).map((number) => number * least);
  const free = [...floor.keys()].slice(0, ranksPerWorker === undefined ? 5 : 8);
  let numbers = numbersOf(first);
  const passes = ranksPerWorker === undefined ? 1 : passesOfTwoKinds;
  for (let pass = 0; pass < passes; pass++) {
    const model = numbers;
    const rows = samples.map((sample) => free.map((index) => slopeAt(model, index, sample) / sample.seconds));
    numbers = numbersOf(modelFrom(descend(rows, numbers, floor)));
  }
  return modelFrom(numbers);
}

/** How a price grows with one number of a model. Prices are sums and maxima of multiples of these numbers, so that slopes times numbers are the price. */
function slopeAt(numbers: readonly number[], index: number, sample: Sample): number {
  const number = numbers[index] as number;
  const more = predict(modelFrom(numbers.with(index, number * 1.001)), sample);
  return (more - predict(modelFrom(numbers), sample)) / (number * 0.001);
}

/**
 * Least squares with bounds by coordinate descent (Hildreth 1957; Franc, Hlaváč and Navara 2005).
 *
 * Numbers, none below its floor, whose products with the rows are next to 1 by least squares: one is improved after the other, until all are as good
 * as can be. Of numbers that rows do not tell apart, the first one moves most.
 */
function descend(rows: readonly (readonly number[])[], begin: readonly number[], floor: readonly number[]): number[] {
  const numbers = [...begin];
  const columns = [...(rows[0]?.keys() ?? [])];
  const products = (one: number, other: number) =>
    rows.reduce((sum, row) => sum + (row[one] as number) * (row[other] as number), 0);
  const squares = columns.map((one) => columns.map((other) => products(one, other)));
  const sums = columns.map((column) => rows.reduce((sum, row) => sum + (row[column] as number), 0));
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (const column of columns) {
      const own = squares[column] as readonly number[];
      const square = own[column] as number;
      if (square === 0) continue;
      const error = (sums[column] as number) - own.reduce((sum, each, at) => sum + each * (numbers[at] as number), 0);
      numbers[column] = Math.max(floor[column] as number, (numbers[column] as number) + error / square);
    }
  }
  return numbers;
}
