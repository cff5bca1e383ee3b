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
// The ranks of a host share memory. If fitting began with equal links, it could not tell which of the
// two kinds determines the time of a round that uses both.
const usualWithin = { alpha: 1e-7, beta: 1e-11, overhead: 1e-7 };
const least = 1e-3;

// Each pass weights the samples by the errors of the pass before. With two kinds of links, it also
// finds anew which kind determines the time of each round.
const passes = 6;
const leastError = 0.05;
const sweeps = 400;

/**
 * The model that best predicts the samples, by absolute relative errors, without negative
 * parameters. A few samples that other work on the machine has disturbed hardly change it.
 * `ranksPerWorker` is given if the ranks of a host have their own links.
 */
export function fit(samples: readonly Sample[], ranksPerWorker?: number): LinkModel {
  const first = ranksPerWorker === undefined ? usual : { ...usual, within: { ...usualWithin, ranksPerWorker } };
  const floor = numbersOf(first).map((number) => number * least);
  const free = [...floor.keys()].slice(0, ranksPerWorker === undefined ? 5 : 8);
  const rowsAt = (numbers: readonly number[]) => samples.map((sample) => slopesAt(numbers, free, sample));
  let numbers = numbersOf(first);
  let rows = rowsAt(numbers);
  let weights = rows.map(() => 1);
  for (let pass = 0; pass < passes; pass++) {
    // With one kind of links, the slopes are the same for all models.
    if (pass > 0 && ranksPerWorker !== undefined) rows = rowsAt(numbers);
    numbers = numbersOf(modelFrom(descend(rows, weights, numbers, floor)));
    weights = rows.map((row) => 1 / Math.max(Math.abs(errorOf(row, numbers)), leastError));
  }
  return modelFrom(numbers);
}

/**
 * The derivatives of the predicted time of a sample with respect to the free parameters, divided by
 * the measured time. A predicted time consists of sums and maxima of multiples of parameters, so it
 * equals the sum of all parameters, each multiplied by its derivative.
 */
function slopesAt(numbers: readonly number[], free: readonly number[], sample: Sample): number[] {
  const base = predict(modelFrom(numbers), sample);
  return free.map((index) => {
    const number = numbers[index] as number;
    const more = predict(modelFrom(numbers.with(index, number * 1.001)), sample);
    return (more - base) / (number * 0.001) / sample.seconds;
  });
}

/** The predicted time of a sample relative to its measured time, minus 1. */
function errorOf(row: readonly number[], numbers: readonly number[]): number {
  return row.reduce((sum, slope, index) => sum + slope * (numbers[index] as number), -1);
}

/**
 * Weighted least squares with lower bounds by coordinate descent (Hildreth 1957; Franc, Hlaváč and
 * Navara 2005). With weights that are the reciprocals of the last errors, it approaches the least
 * absolute errors (Schlossmacher 1973).
 *
 * Finds numbers, none below its bound in `floor`, whose products with the rows are closest to 1.
 * Improves one number after the other until they converge. If the rows do not determine some
 * numbers, the first of these changes most.
 */
function descend(
  rows: readonly (readonly number[])[],
  weights: readonly number[],
  begin: readonly number[],
  floor: readonly number[],
): number[] {
  const numbers = [...begin];
  const columns = [...(rows[0]?.keys() ?? [])];
  const total = (term: (row: readonly number[]) => number) =>
    rows.reduce((sum, row, index) => sum + (weights[index] as number) * term(row), 0);
  const squares = columns.map((one) =>
    columns.map((other) => total((row) => (row[one] as number) * (row[other] as number))),
  );
  const sums = columns.map((column) => total((row) => row[column] as number));
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
