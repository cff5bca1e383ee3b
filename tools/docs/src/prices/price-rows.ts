import { type Cost, type CostOptions, cost, representativeCost } from '@coll/core/schedule';
import { allReduce, type Case, casesAmong, type Setting } from '../catalogue.ts';
import { buffers, gamma, type Network, networks, withinWorker } from './networks.ts';

/** The cost of an algorithm for a number of ranks. */
export interface PriceRow {
  readonly setting: Setting['name'];
  readonly algorithm: string;
  readonly ranks: number;
  readonly rounds: number;
  /** By network, then by buffer. */
  readonly seconds: readonly (readonly number[])[];
}

/** The sizes of groups that have prices: 2, 4, 8 up to 65,536. */
export const pricedRanks: readonly number[] = Array.from({ length: 16 }, (_, index) => 2 ** (index + 1));

/** Prices of all algorithms for these numbers of ranks. */
export function* priceRows(counts: readonly number[]): Iterable<PriceRow> {
  for (const each of casesAmong(counts)) {
    yield { setting: each.setting.name, algorithm: each.name, ranks: each.ranks, ...priceOf(each) };
  }
}

/** The rounds and seconds of a case, for every network and buffer. */
export function priceOf(each: Case): Pick<PriceRow, 'rounds' | 'seconds'> {
  const price = pricer(each);
  const costs = networks.map((network) => buffers.map((bytes) => price(costOptions(each.setting, network, bytes))));
  return {
    rounds: costs[0]?.[0]?.rounds ?? 0,
    seconds: costs.map((byBuffer) => byBuffer.map(({ seconds }) => seconds)),
  };
}

/** Computes costs from the algorithm's representative transfers or, if it has none, from all transfers. */
function pricer({ setting: { ranksPerWorker }, ranks, algorithm }: Case) {
  const representatives = () => algorithm.representatives?.(allReduce, ranks, ranksPerWorker);
  const planned = algorithm.stream || representatives() ? undefined : algorithm.plan(allReduce, ranks);
  return (options: CostOptions): Pick<Cost, 'rounds' | 'seconds'> => {
    const few = representatives();
    if (few) return representativeCost(few, options);
    return cost(planned ?? (algorithm.stream ?? algorithm.plan)(allReduce, ranks), options);
  };
}

/** The arguments of `cost` for a setting, a network and a buffer. */
export function costOptions({ ranksPerWorker }: Setting, { times }: Network, bytes: number): CostOptions {
  return { ...times, workers: { ...withinWorker, ranksPerWorker }, bytes, gamma };
}
