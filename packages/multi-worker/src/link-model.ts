import type { CollectiveKind } from '@coll/core';
import { cost, type LinkTimes, type Schedule } from '@coll/core/schedule';

/**
 * Times of all links of one kind. The fields of `LinkTimes` are the times per message and per byte.
 */
interface AllTimes extends LinkTimes {
  /** Seconds of work that a rank needs for each message that it sends or receives. */
  readonly overhead: number;
}

/** A model of the speed of a group's links, which predicts the times of schedules. */
export interface LinkModel {
  /** Seconds of any collective before its first round, independent of the algorithm. */
  readonly start: number;
  /** Seconds to combine one byte of two contributions. */
  readonly gamma: number;
  /** Links between hosts, or between all ranks if there is only one kind of link. */
  readonly across: AllTimes;
  /**
   * Links between the ranks of a host, if they differ from the links between hosts. Ranks are
   * numbered host by host, with equally many ranks on each host.
   */
  readonly within?: (AllTimes & { readonly ranksPerWorker: number }) | undefined;
}

/** A schedule that was executed, and the time that it took. */
export interface Sample {
  readonly kind: CollectiveKind;
  readonly schedule: Schedule;
  /** Size of the whole buffer, which the schedule cuts into chunks. */
  readonly bytes: number;
  readonly seconds: number;
}

/** Predicts the seconds that a schedule takes. */
export function predict(
  { start, gamma, across, within }: LinkModel,
  { kind, schedule, bytes }: Omit<Sample, 'seconds'>,
): number {
  return start + cost(schedule, { kind, bytes, gamma, ...across, workers: within }).seconds;
}

/** Number of parameters of a link model. */
export const modelLength = 9;

/**
 * Converts a model to numbers, to send it to other ranks. `modelFrom` converts the numbers back.
 */
export function numbersOf({ start, gamma, across, within }: LinkModel): number[] {
  const { ranksPerWorker, alpha, beta, overhead } = within ?? { ranksPerWorker: 0, alpha: 0, beta: 0, overhead: 0 };
  return [start, gamma, across.alpha, across.beta, across.overhead, alpha, beta, overhead, ranksPerWorker];
}

/** Converts the numbers that `numbersOf` returns back to a model. */
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

// The model with which fitting begins: a link through memory. No parameter is zero, so that fewer
// rounds and fewer bytes always cost less.
const usual: LinkModel = { start: 1e-6, gamma: 1e-10, across: { alpha: 1e-6, beta: 1e-10, overhead: 1e-6 } };
const least = 1e-3;

// With one kind of link, a model is linear in its parameters. With two kinds, the kind that
// determines the time depends on the parameters.
const passesOfTwoKinds = 4;
const sweeps = 400;

/**
 * The model that best predicts the samples, by squared relative errors, without negative
 * parameters. `ranksPerWorker` is given if the ranks of a host have their own links.
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

/**
 * The derivative of the predicted time of a sample with respect to one parameter. A predicted time
 * consists of sums and maxima of multiples of parameters, so it equals the sum of all parameters,
 * each multiplied by its derivative.
 */
function slopeAt(numbers: readonly number[], index: number, sample: Sample): number {
  const number = numbers[index] as number;
  const more = predict(modelFrom(numbers.with(index, number * 1.001)), sample);
  return (more - predict(modelFrom(numbers), sample)) / (number * 0.001);
}

/**
 * Least squares with lower bounds by coordinate descent (Hildreth 1957; Franc, Hlaváč and Navara
 * 2005).
 *
 * Finds numbers, none below its bound in `floor`, whose products with the rows are closest to 1.
 * Improves one number after the other until they converge. If the rows do not determine some
 * numbers, the first of these changes most.
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
