/** Points of the plane, two numbers each, and 1 for each point that is inside the unit circle, otherwise 0. */
export interface Points {
  readonly xs: Float32Array;
  readonly ys: Float32Array;
}

/** Random points for training, and others for the test. Each call returns new ones. */
export function points(): { readonly train: Points; readonly test: Points } {
  const xs = Float32Array.from({ length: 2 * 1280 }, () => 3 * Math.random() - 1.5);
  const ys = Float32Array.from({ length: 1280 }, (_, at) => Number(Math.hypot(...xs.subarray(2 * at, 2 * at + 2)) < 1));
  const all = { xs, ys };
  return { train: slice(all, 0, 1024), test: slice(all, 1024, 1280) };
}

/** The points from `begin` to `end`. */
export function slice({ xs, ys }: Points, begin: number, end: number): Points {
  return { xs: xs.slice(2 * begin, 2 * end), ys: ys.slice(begin, end) };
}
