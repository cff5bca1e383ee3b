import { meanOf, summarize } from '../statistics.js';

/**
 * Two series of each build. They alternate in every round of a suite, in this order, so that changes of the
 * machine affect all of them.
 */
export const seriesNames = ['before', 'after', 'after again', 'before again'] as const;
export type SeriesName = (typeof seriesNames)[number];

/** The figures of a series for one case at one size, from all rounds, in microseconds per call. */
export interface Figures {
  readonly samples: readonly number[];
  /** The mean of each round. */
  readonly means: readonly number[];
}

/** A statistic of both builds, for one case at one size. */
export interface Change {
  /** Microseconds per call: the geometric mean of both series of the build. */
  readonly beforeMicros: number;
  readonly afterMicros: number;
  /** `afterMicros` divided by `beforeMicros`. */
  readonly ratio: number;
  /**
   * The same ratio between two halves that hold one series of each build, for both ways to form
   * such halves. The builds do not matter here, so these ratios show how much two series of the
   * same build differ.
   */
  readonly sameBuild: readonly [number, number];
}

export interface Comparison {
  readonly median: Change;
  readonly mean: Change;
}

export function compare(series: Readonly<Record<SeriesName, Figures>>): Comparison {
  return {
    median: changeOf(series, ({ samples }) => summarize(samples).median),
    mean: changeOf(series, ({ means }) => meanOf(means)),
  };
}

function changeOf(series: Readonly<Record<SeriesName, Figures>>, microsOf: (figures: Figures) => number): Change {
  const micros = (...names: readonly SeriesName[]) => geometricMeanOf(names.map((name) => microsOf(series[name])));
  const [beforeMicros, afterMicros] = [micros('before', 'before again'), micros('after', 'after again')];
  return {
    beforeMicros,
    afterMicros,
    ratio: afterMicros / beforeMicros,
    sameBuild: [
      micros('before', 'after') / micros('before again', 'after again'),
      micros('before', 'after again') / micros('before again', 'after'),
    ],
  };
}

/** @throws RangeError without values */
function geometricMeanOf(values: readonly number[]): number {
  return Math.exp(meanOf(values.map(Math.log)));
}

/** How far a ratio is from 1: the ratio or its inverse, whichever is larger. */
export function sizeOf(ratio: number): number {
  return Math.max(ratio, 1 / ratio);
}

/** The rows of one suite and size. */
export interface RowGroup {
  readonly rows: number;
  /** The geometric mean of the rows' ratios. */
  readonly ratio: number;
  /** The size of the same geometric mean between series of the same build. */
  readonly noise: number;
  /** The largest size of a single row's ratio between series of the same build. */
  readonly mostNoise: number;
}

/** @throws RangeError without rows */
export function groupOf(changes: readonly Change[]): RowGroup {
  const byPairing = [0, 1].map((pairing) => changes.map(({ sameBuild }) => sameBuild[pairing] as number));
  return {
    rows: changes.length,
    ratio: geometricMeanOf(changes.map(({ ratio }) => ratio)),
    noise: Math.max(...byPairing.map((ratios) => sizeOf(geometricMeanOf(ratios)))),
    mostNoise: Math.max(...byPairing.flat().map(sizeOf)),
  };
}

/** Whether a row differs by more than series of the same build do in any row of its group. */
export function isDifferent({ ratio }: Change, { mostNoise }: RowGroup): boolean {
  return sizeOf(ratio) > mostNoise;
}
