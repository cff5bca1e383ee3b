import { type CostOptions, cost } from '@coll/core/schedule';
import { allReduce, type Case, casesAmong, type Setting } from '../catalogue.ts';
import { buffers, gamma, type Network, networks, withinWorker } from './networks.ts';

/** What an algorithm costs among so many ranks. */
export interface PriceRow {
  readonly setting: Setting['name'];
  readonly algorithm: string;
  readonly ranks: number;
  readonly rounds: number;
  /** By network, then by buffer. */
  readonly seconds: readonly (readonly number[])[];
}

/** The sizes of groups that have prices: 2, 4, 8 up to 4,096. */
export const pricedRanks: readonly number[] = Array.from({ length: 12 }, (_, index) => 2 ** (index + 1));

/** Prices of all algorithms among as many ranks as these; thousands take minutes. */
export function* priceRows(counts: readonly number[]): Iterable<PriceRow> {
  for (const each of casesAmong(counts)) {
    yield { setting: each.setting.name, algorithm: each.name, ranks: each.ranks, ...priceOf(each) };
  }
}

/** Rounds and seconds, in every network with every buffer. */
export function priceOf({ setting, ranks, algorithm }: Case): Pick<PriceRow, 'rounds' | 'seconds'> {
  // What can be streamed may be too large to be held; what cannot is planned once.
  const planned = algorithm.stream ? undefined : algorithm.plan(allReduce, ranks);
  const schedule = () => planned ?? (algorithm.stream ?? algorithm.plan)(allReduce, ranks);
  const costs = networks.map((network) =>
    buffers.map((bytes) => cost(schedule(), costOptions(setting, network, bytes))),
  );
  return {
    rounds: costs[0]?.[0]?.rounds ?? 0,
    seconds: costs.map((byBuffer) => byBuffer.map(({ seconds }) => seconds)),
  };
}

/** The machine of a setting, and how much is reduced. */
function costOptions({ ranksPerWorker }: Setting, { times }: Network, bytes: number): CostOptions {
  return { ...times, workers: { ...withinWorker, ranksPerWorker }, bytes, gamma };
}
