import { accumulatorOf, type Collective, type CollectiveOp } from '../collectives/collective.js';
import { elementaryOp } from '../kernels/combine.js';
import { type Communicator, requireCommunicator } from '../runtime/communicator.js';
import { ValueError } from '../support/errors.js';
import { knownOptions } from '../support/known-options.js';
import { optionsOf } from '../support/options-of.js';
import { quote } from '../support/quote.js';
import { allRanks } from '../support/ranks.js';
import { slice } from '../values/concatenate.js';
import type { Tensor } from '../values/tensor.js';
import {
  finish,
  type HandedIn,
  handOut,
  reducesToLeader,
  Scratch,
  type Stage,
  type Stages,
  widened,
} from './hierarchical-stages.js';
import { Level } from './level.js';
import { TwoLevels } from './two-levels.js';

/** The worker that a rank belongs to. All workers have the same number of ranks. */
export interface RankOfWorkerOptions {
  /** Number of workers. */
  readonly workers: number;
  /** Index of this rank's worker. */
  readonly worker: number;
  /**
   * The communicator across the first ranks of all workers. Only for the first rank of a worker,
   * which communicates with other workers on behalf of its worker.
   */
  readonly across?: Communicator | undefined;
}

const rankOfWorkerOptions = knownOptions<RankOfWorkerOptions>('rankOfWorker', {
  workers: true,
  worker: true,
  across: true,
});

/**
 * One rank of a worker whose other ranks are in other threads: two levels, as in `hierarchical`,
 * seen from one rank. Supports all-reduce, broadcast and all-gather; ranks are numbered worker by
 * worker. Collectives run one after the other. Closing the communicator closes both levels.
 * @throws ValueError if the parts do not fit together
 */
export function rankOfWorker(within: Communicator, options: RankOfWorkerOptions): Communicator {
  requireCommunicator(within, 'rankOfWorker: within');
  const { workers, worker, across } = optionsOf(
    options,
    '{ workers: 2, worker: 0, across }',
    rankOfWorkerOptions,
  ) as RankOfWorkerOptions;
  if (!(Number.isInteger(workers) && Number.isInteger(worker) && worker >= 0 && worker < workers))
    throw misfit(`worker must be an index below the ${quote(workers)} workers, got ${quote(worker)}`);
  if (across !== undefined) requireCommunicator(across, 'rankOfWorker: across');
  const [index, ...others] = within.localRanks as readonly [number, ...number[]];
  if (others.length > 0) throw misfit(`within must have exactly one local rank, got ${within.localRanks.length}`);
  if ((index === 0) !== (across !== undefined)) throw misfit('exactly the first rank of each worker must pass across');
  if (across && (across.size !== workers || across.localRanks[0] !== worker))
    throw misfit(
      `across has ${across.size} ranks and is rank ${across.localRanks}, expected worker ${worker} of ${workers}`,
    );
  const { size } = within;
  const firsts = allRanks(workers + 1).map((other) => other * size);
  const ranks = allRanks(size + 1).map((rank) => worker * size + rank);
  return new RankOfWorker({
    within: new Level(within, ranks, firsts),
    across: across && new Level(across, firsts),
    workers,
    worker,
    index,
  });
}

interface WorkerRank {
  readonly within: Level;
  readonly across: Level | undefined;
  readonly workers: number;
  readonly worker: number;
  /** Index of this rank within its worker. */
  readonly index: number;
}

class RankOfWorker extends TwoLevels {
  readonly #rank: WorkerRank;
  readonly #ranks: number;
  readonly #scratch = new Scratch();

  constructor(rank: WorkerRank) {
    const { within, across, workers, worker, index } = rank;
    const ranks = within.communicator.size;
    super({
      size: workers * ranks,
      localRanks: [worker * ranks + index],
      levels: across ? [within, across] : [within],
      owner: within.communicator,
      communicator: (algorithm) =>
        rankOfWorker(within.communicator.group.communicator(algorithm), {
          workers,
          worker,
          across: across?.communicator.group.communicator(algorithm),
        }),
    });
    this.#rank = rank;
    this.#ranks = ranks;
  }

  protected levelsRefuse(): undefined {}

  protected stages(collective: Collective, { inputs, outputs }: HandedIn): Stages {
    const [input, output] = [inputs[0] as Tensor, outputs[0] as Tensor];
    if (collective.kind === 'broadcast') return this.#broadcast(collective.root, input, output);
    if (collective.kind === 'all-gather') return this.#allGather(input, output);
    return this.#allReduce((collective as { op: CollectiveOp }).op, input, output);
  }

  /**
   * Reduces within the worker, then across workers, and broadcasts the result within the worker.
   * Values stay in their accumulator until the end; a mean is divided once, by the number of all
   * ranks.
   */
  *#allReduce(op: CollectiveOp, input: Tensor, output: Tensor): Stages {
    const { within, across } = this.#rank;
    const wide = accumulatorOf(input.dtype, op);
    const base = elementaryOp(op);
    const mine = wide === input.dtype ? input : widened(input, op, 0, this.#scratch);
    const sum = this.#scratch.take('sum', wide, input.data.length);
    const isReduce = reducesToLeader(within.communicator, base, wide);
    const up: Collective = isReduce ? { kind: 'reduce', op: base, root: 0 } : { kind: 'all-reduce', op: base };
    // Only the root's output is written, so the other ranks can pass any tensor.
    yield stage(within, up, mine, isReduce && !across ? mine : sum, across);
    if (across) {
      const total = wide === output.dtype ? output : sum;
      yield stage(across, { kind: 'all-reduce', op: base }, sum, total, within);
      finish(total, output, op === 'mean' ? this.size : undefined);
    }
    yield this.#back(output);
  }

  /**
   * Waits until all ranks have called the broadcast. The value then travels within the root's
   * worker, across workers, and within all other workers.
   */
  *#broadcast(root: number, input: Tensor, output: Tensor): Stages {
    const { within, across, worker, index } = this.#rank;
    const nothing = slice(output, 0, 0);
    yield stage(within, handOut, nothing, nothing, across);
    if (across) yield stage(across, handOut, nothing, nothing, within);
    yield this.#back(nothing, across);
    const [rootWorker, giver] = [Math.floor(root / this.#ranks), root % this.#ranks];
    const hasRoot = rootWorker === worker;
    const give: Collective = { kind: 'broadcast', root: giver };
    if (hasRoot) yield stage(within, give, index === giver ? input : output, output, across);
    if (across)
      yield stage(across, { kind: 'broadcast', root: rootWorker }, output, output, hasRoot ? undefined : within);
    if (!hasRoot) yield this.#back(output);
  }

  *#allGather(input: Tensor, output: Tensor): Stages {
    const { within, across } = this.#rank;
    const collective: Collective = { kind: 'all-gather' };
    const block = this.#scratch.take('block', input.dtype, input.data.length * this.#ranks);
    yield stage(within, collective, input, block, across);
    if (across) yield stage(across, collective, block, output, within);
    yield this.#back(output);
  }

  /**
   * Broadcasts from the worker's first rank, which may still wait for other workers. The first rank
   * must time out before the others, because only the first rank can name the missing rank.
   */
  #back(output: Tensor, later?: Level): Stage {
    const { within, across } = this.#rank;
    return { ...stage(within, handOut, output, output, later), isBehind: across === undefined };
  }
}

function stage(level: Level, collective: Collective, input: Tensor, output: Tensor, later?: Level): Stage {
  return { jobs: [{ level, collective, inputs: [input], outputs: [output] }], later };
}

function misfit(problem: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `rankOfWorker: ${problem}`);
}
