/** Statistics of samples. */
export interface Summary {
  readonly median: number;
  readonly min: number;
  /** 95 of 100 samples are at most this. */
  readonly p95: number;
}

/** @throws RangeError without samples */
export function summarize(samples: readonly number[]): Summary {
  if (samples.length === 0) throw new RangeError('there are no samples to summarize');
  const sorted = Float64Array.from(samples).sort();
  return { median: medianOf(sorted), min: sorted[0] as number, p95: quantile(sorted, 0.95) };
}

/** @throws RangeError without samples */
export function meanOf(samples: ArrayLike<number>): number {
  if (samples.length === 0) throw new RangeError('there are no samples to average');
  return Array.from(samples).reduce((sum, sample) => sum + sample, 0) / samples.length;
}

function medianOf(sorted: Float64Array): number {
  const middle = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(middle) - 1] as number, sorted[Math.floor(middle)] as number];
  return (below + above) / 2;
}

/** The quantile by nearest rank: the smallest sample that at least this share of all samples does not exceed. */
function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.ceil(sorted.length * share) - 1] as number;
}
