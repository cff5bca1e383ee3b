import { accumulatorOf, type Collective, type CollectiveOp } from '../collectives/collective.js';
import { elementaryOp } from '../kernels/combine.js';
import { type Communicator, requireCommunicator } from '../runtime/communicator.js';
import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { allRanks } from '../support/ranks.js';
import { requireList } from '../support/requirements.js';
import type { DType } from '../values/dtype.js';
import {
  allGatherStages,
  allReduceStages,
  broadcastStages,
  type HandedIn,
  handOut,
  type Levels,
  reducesToLeader,
  Scratch,
  type Stages,
  type WorkerPart,
} from './hierarchical-stages.js';
import { Level } from './level.js';
import { TwoLevels } from './two-levels.js';

/** Settings that `hierarchical` cannot infer from its parts. */
export interface HierarchicalOptions {
  /**
   * Number of ranks of each worker. Default: every worker has as many ranks as the first local one.
   */
  readonly ranksPerWorker?: readonly number[] | undefined;
}

const hierarchicalOptions = knownOptions<HierarchicalOptions>('hierarchical', { ranksPerWorker: true });

/**
 * Two levels as one communicator. An all-reduce reduces within each worker to its first rank (its
 * leader), then across the leaders, and broadcasts the result within each worker. `within` has one
 * communicator for each local worker, all of whose ranks must be local. `across` is a communicator
 * of the leaders of all workers; `across.localRanks[i]` is the number of worker `within[i]`. Ranks
 * are numbered worker by worker.
 *
 * Supports all-reduce, broadcast and, if all workers have the same number of ranks, all-gather,
 * provided that the parts support the collectives that make up these collectives. Collectives run
 * one after the other. Closing the communicator closes the parts.
 *
 * @throws ValueError if the parts do not fit together
 *
 * @example
 * ```ts
 * import { hierarchical, jsEngine, tensor } from '@coll/core';
 * import { directAlgorithm } from '@coll/direct';
 * import { ringAlgorithm } from '@coll/ring';
 *
 * // Two workers with two ranks each.
 * const within = [1, 2].map(() => jsEngine.communicator(2, directAlgorithm()));
 * const communicator = hierarchical(within, jsEngine.communicator(2, ringAlgorithm()));
 * const buffers = [1, 2, 3, 4].map((value) => tensor(new Float32Array([value])));
 * await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[3]?.data); // Float32Array(1) [ 10 ]
 * ```
 */
export function hierarchical(
  within: readonly Communicator[],
  across: Communicator,
  options: HierarchicalOptions = {},
): Communicator {
  requireList(within, 'hierarchical: within');
  for (const [worker, communicator] of within.entries())
    requireCommunicator(communicator, `hierarchical: within[${worker}]`);
  requireCommunicator(across, 'hierarchical: across');
  const { ranksPerWorker } = optionsOf(options, '{ ranksPerWorker: [2, 2] }', hierarchicalOptions);
  if (ranksPerWorker !== undefined) requireList(ranksPerWorker, 'hierarchical: ranksPerWorker');
  const sizes = ranksPerWorker ?? Array.from({ length: across.size }, () => within[0]?.size ?? 0);
  requireFit(within, across, sizes);
  return new HierarchicalCommunicator(levelsOf(within, across, sizes), sizes);
}

class HierarchicalCommunicator extends TwoLevels {
  readonly #levels: Levels;
  readonly #isEven: boolean;
  readonly #scratch = new Scratch();

  constructor(levels: Levels, ranksPerWorker: readonly number[]) {
    const { size, within, across } = levels;
    const localRanks = within.flatMap(({ level, firstRank }) =>
      level.communicator.localRanks.map((rank) => firstRank + rank),
    );
    super({
      size,
      localRanks,
      levels: [...within.map(({ level }) => level), across],
      owner: across.communicator,
      communicator: (algorithm) => {
        const parts = within.map(({ level }) => level.communicator.group.communicator(algorithm));
        return hierarchical(parts, across.communicator.group.communicator(algorithm), { ranksPerWorker });
      },
    });
    this.#levels = levels;
    this.#isEven = new Set(ranksPerWorker).size === 1;
  }

  protected levelsRefuse(collective: Collective, dtype: DType): string | undefined {
    const { within } = this.#levels;
    const across = this.#levels.across.communicator;
    if (collective.kind === 'all-reduce') {
      const [op, wide] = [elementaryOp(collective.op), accumulatorOf(dtype, collective.op)];
      const up = within.filter(({ level }) => !reducesToLeader(level.communicator, op, wide));
      return (
        firstRefusal(up, { kind: 'all-reduce', op }, wide) ??
        across.refuses({ kind: 'all-reduce', op }, wide) ??
        firstRefusal(within, handOut, dtype)
      );
    }
    if (collective.kind === 'all-gather' && !this.#isEven)
      return 'a hierarchical all-gather needs the same number of ranks on every worker';
    const part = collective.kind === 'broadcast' ? handOut : collective;
    return across.refuses(part, dtype) ?? firstRefusal(within, handOut, dtype);
  }

  protected stages(collective: Collective, handedIn: HandedIn): Stages {
    if (collective.kind === 'broadcast') return broadcastStages(this.#levels, collective.root, handedIn);
    if (collective.kind === 'all-gather') return allGatherStages(this.#levels, handedIn, this.#scratch);
    return allReduceStages(this.#levels, (collective as { op: CollectiveOp }).op, handedIn, this.#scratch);
  }
}

function levelsOf(within: readonly Communicator[], across: Communicator, sizes: readonly number[]): Levels {
  const firsts = [0];
  for (const size of sizes) firsts.push((firsts.at(-1) as number) + size);
  let begin = 0;
  const parts = within.map((communicator, index): WorkerPart => {
    const worker = across.localRanks[index] as number;
    const firstRank = firsts[worker] as number;
    const ranks = allRanks(communicator.size + 1).map((rank) => firstRank + rank);
    const part = { level: new Level(communicator, ranks, firsts), firstRank, begin };
    begin += communicator.size;
    return part;
  });
  return { size: firsts.at(-1) as number, firsts, within: parts, across: new Level(across, firsts) };
}

function firstRefusal(parts: readonly WorkerPart[], collective: Collective, dtype: DType): string | undefined {
  const several = parts.filter(({ level }) => level.communicator.size > 1);
  return several
    .map(({ level }) => level.communicator.refuses(collective, dtype))
    .find((refused) => refused !== undefined);
}

function requireFit(within: readonly Communicator[], across: Communicator, sizes: readonly number[]): void {
  const fail = (problem: string) => new ValueError('ERR_COLL_VALUE', `hierarchical: ${problem}`);
  if (within.length === 0 || within.length !== across.localRanks.length) {
    throw fail(
      `across has ${across.localRanks.length} leaders in this process, but within has ${within.length} workers`,
    );
  }
  if (sizes.length !== across.size) {
    throw fail(`ranksPerWorker has ${sizes.length} workers, but across has ${across.size} leaders`);
  }
  for (const [index, { size, localRanks }] of within.entries()) {
    const worker = across.localRanks[index] as number;
    if (localRanks.length !== size)
      throw fail(`only ${localRanks.length} of the ${size} ranks of worker ${worker} are in this process; all must be`);
    if (size !== sizes[worker])
      throw fail(`worker ${worker} has ${size} ranks, expected ${sizes[worker]}: pass ranksPerWorker`);
  }
}
