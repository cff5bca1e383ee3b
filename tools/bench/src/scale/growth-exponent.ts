/**
 * The exponent `e` of the growth `ranks ** e`, by a least-squares fit of the logarithms. Undefined for
 * fewer than two points, or if a value is 0.
 */
export function growthExponent(
  points: readonly { readonly ranks: number; readonly value: number }[],
): number | undefined {
  if (points.length < 2 || points.some(({ value }) => value <= 0)) return undefined;
  const logs = points.map(({ ranks, value }) => [Math.log(ranks), Math.log(value)] as const);
  const mean = (which: 0 | 1) => logs.reduce((sum, pair) => sum + pair[which], 0) / logs.length;
  const [x, y] = [mean(0), mean(1)];
  const products = logs.reduce((sum, pair) => sum + (pair[0] - x) * (pair[1] - y), 0);
  const squares = logs.reduce((sum, pair) => sum + (pair[0] - x) ** 2, 0);
  return products / squares;
}
