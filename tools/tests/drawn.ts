import { createHash } from 'node:crypto';

const isDrawn = process.env['COLL_TESTS'] === 'core';
const seed = process.env['COLL_TEST_SEED'] ?? '0';
const ranksByDefault: readonly number[] = [1, 2, 3, 4, 5, 6, 7, 8];

/**
 * In `npm test`, draws `count` of the values by its seed and this name, in their order. Otherwise returns
 * all values.
 * @example it.each(drawn('shapes', shapes, 2))('are proven for $workers workers', ({ workers }) => { … });
 */
export function drawn<T>(name: string, values: readonly T[], count = 1): readonly T[] {
  if (!isDrawn) return values;
  const lot = (index: number) => createHash('sha256').update(`${seed} ${name} ${index}`).digest('hex');
  const lots = values.map((_, index) => ({ index, lot: lot(index) }));
  const chosen = new Set(
    lots
      .sort((one, other) => one.lot.localeCompare(other.lot))
      .slice(0, count)
      .map(({ index }) => index),
  );
  return values.filter((_, index) => chosen.has(index));
}

/**
 * The options of an executor's suite. In `npm test`, the suite gets one of its algorithms and one number of
 * ranks, at most 4.
 */
export function drawnSuite<Options extends SuiteOptions>(options: Options): Options {
  const { name, algorithms, ranks = ranksByDefault } = options;
  return {
    ...options,
    ranks: drawn(`ranks of ${name}`, isDrawn ? ranks.filter((count) => count <= 4) : ranks),
    ...(algorithms && { algorithms: drawn(`algorithms of ${name}`, algorithms) }),
  };
}

/** The numbers of ranks of suites with more ranks than cores, by the command that runs them. Default: all of them. */
export function manyRanks(): readonly number[] {
  switch (process.env['COLL_TESTS']) {
    case 'rest':
      return [16, 32];
    case 'scale':
      return [64, 128];
    default:
      return [16, 32, 64, 128];
  }
}

interface SuiteOptions {
  readonly name: string;
  readonly algorithms?: readonly unknown[];
  readonly ranks?: readonly number[];
}
