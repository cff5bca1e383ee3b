import { refusedArithmetic } from '../arithmetic.js';
import { refusedCollective, validateBuffers } from '../buffers.js';
import { abortedError, busyError, closedError, refusedError } from '../call-errors.js';
import { type Collective, nameOf, rootOf } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import { accumulatorOf, type DType } from '../dtype.js';
import { CollError, ValueError } from '../errors.js';
import { elementaryOp } from '../kernels/combine.js';
import { untilAllHaveEnded } from '../packing/pack-runner.js';
import { allRanks } from '../ranks.js';
import type { Tensor } from '../tensor.js';
import {
  allGatherStages,
  allReduceStages,
  broadcastStages,
  type HandedIn,
  type Job,
  type Levels,
  reducesToLeader,
  requestOf,
  Scratch,
  type Stages,
  type WorkerPart,
} from './hierarchical-stages.js';

/** What `hierarchical` cannot see in its parts. */
export interface HierarchicalOptions {
  /** How many ranks each worker has. Default: as many as the first one here. */
  readonly ranksPerWorker?: readonly number[] | undefined;
}

/**
 * Two levels as one communicator: an all-reduce reduces within each worker to its first rank, its leader, then across the leaders, and hands the
 * result out within each worker. `within` are the workers whose ranks are here, all of them or only one's own; `across` is a
 * communicator of the leaders of all workers, whose `localRanks` say which workers those of `within` are. Ranks are numbered worker by worker.
 *
 * It has all-reduce, broadcast and, where all workers have as many ranks, all-gather, as far as the parts have what they are made of. Collectives
 * run one after the other. Closing it closes the parts.
 *
 * @throws ValueError where the parts do not fit together
 */
export function hierarchical(
  within: readonly Communicator[],
  across: Communicator,
  options: HierarchicalOptions = {},
): Communicator {
  const sizes = options.ranksPerWorker ?? Array.from({ length: across.size }, () => within[0]?.size ?? 0);
  requireFit(within, across, sizes);
  return new HierarchicalCommunicator(within, across, sizes);
}

class HierarchicalCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #levels: Levels;
  /** The first rank of every worker. */
  readonly #firsts: readonly number[];
  readonly #isEven: boolean;
  readonly #scratch = new Scratch();
  /** The latest of the calls that are under way. */
  #tail: Promise<void> | undefined;
  #isClosed = false;

  constructor(within: readonly Communicator[], across: Communicator, sizes: readonly number[]) {
    this.size = sizes.reduce((sum, size) => sum + size, 0);
    this.#firsts = sizes.map((_, worker) => sizes.slice(0, worker).reduce((sum, size) => sum + size, 0));
    this.#isEven = new Set(sizes).size === 1;
    let begin = 0;
    const parts = within.map((communicator, index): WorkerPart => {
      const worker = across.localRanks[index] as number;
      const part = { communicator, worker, firstRank: this.#firsts[worker] as number, begin };
      begin += communicator.size;
      return part;
    });
    this.#levels = { size: this.size, within: parts, across };
    this.localRanks = parts.flatMap(({ communicator, firstRank }) =>
      communicator.localRanks.map((rank) => firstRank + rank),
    );
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    const refused = refusedCollective(collective, dtype, this.size);
    if (refused !== undefined) return refused;
    const { within, across } = this.#levels;
    switch (collective.kind) {
      case 'all-reduce': {
        const [op, wide] = [elementaryOp(collective.op), accumulatorOf(dtype)];
        const up = within.filter(({ communicator }) => !reducesToLeader(communicator, op, wide));
        return (
          refusedArithmetic(collective.op, dtype) ??
          firstRefusal(up, { kind: 'all-reduce', op }, wide) ??
          across.refuses({ kind: 'all-reduce', op }, wide) ??
          firstRefusal(within, homeward, dtype)
        );
      }
      case 'broadcast':
        return across.refuses(homeward, dtype) ?? firstRefusal(within, homeward, dtype);
      case 'all-gather':
        if (!this.#isEven) return 'two levels have an all-gather only where all workers have as many ranks';
        return across.refuses(collective, dtype) ?? firstRefusal(within, homeward, dtype);
      default:
        return `two levels have all-reduce, broadcast and all-gather, but no ${collective.kind}`;
    }
  }

  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): Promise<void> {
    const layout = this.#check(collective, inputs, outputs, options);
    const before = this.#tail;
    // One after the other: workers that are elsewhere meet the same collectives in the same order.
    const mine = (async () => {
      await before?.catch(() => {});
      const stages = this.#stages(collective, { inputs, outputs, isShared: isOneResult(outputs, options) });
      const own = { ...options, layout };
      for (const jobs of stages) await untilAllHaveEnded(jobs.map((job) => this.#run(job, own)));
    })();
    this.#tail = mine;
    try {
      await mine;
    } finally {
      if (this.#tail === mine) this.#tail = undefined;
    }
  }

  runSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): void {
    const layout = this.#check(collective, inputs, outputs, options);
    if (this.#tail) throw busyError({ operation: nameOf(collective) });
    const stages = this.#stages(collective, { inputs, outputs, isShared: isOneResult(outputs, options) });
    const own = { ...options, layout };
    for (const jobs of stages) for (const job of jobs) this.#runSync(job, own);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { within, across } = this.#levels;
    await Promise.all([...within.map(({ communicator }) => communicator.close()), across.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(job: Job, options: RunOptions): Promise<void> {
    const { collective, inputs, outputs } = job;
    try {
      await this.#communicatorOf(job).run(collective, inputs, outputs, {
        ...options,
        sharedResult: job.isShared ?? false,
      });
    } catch (error) {
      throw this.#retold(error, job);
    }
  }

  #runSync(job: Job, options: RunOptions): void {
    const { collective, inputs, outputs } = job;
    try {
      this.#communicatorOf(job).runSync(collective, inputs, outputs, {
        ...options,
        sharedResult: job.isShared ?? false,
      });
    } catch (error) {
      throw this.#retold(error, job);
    }
  }

  #communicatorOf({ part }: Job): Communicator {
    return part?.communicator ?? this.#levels.across;
  }

  /** An error of a part, which counts its own ranks, told in those of the whole. */
  #retold(error: unknown, { part }: Job): unknown {
    if (!(error instanceof CollError) || !(error.constructor.prototype instanceof CollError)) return error;
    const ranksOf = (worker: number) => {
      const end = this.#firsts[worker + 1] ?? this.size;
      const first = this.#firsts[worker] as number;
      return `worker ${worker} is ${end - first === 1 ? 'rank' : 'ranks'} ${allRanks(end - first)
        .map((rank) => first + rank)
        .join(', ')}`;
    };
    const { code, message, cause, rank, operation } = error;
    const agreed = code.endsWith('MISMATCH') ? ', which have to agree about op, dtype and root as well' : '';
    const where = part
      ? `within a worker, whose rank 0 is rank ${part.firstRank}`
      : `across workers${agreed}; ${this.#firsts.map((_, worker) => ranksOf(worker)).join('; ')}`;
    const known = rank === undefined ? undefined : part ? part.firstRank + rank : this.#firsts[rank];
    const Same = error.constructor as typeof CollError;
    return new Same(code, `${message} (${where})`, {
      cause,
      ...(known === undefined ? {} : { rank: known }),
      ...(operation === undefined ? {} : { operation }),
    });
  }

  #stages(collective: Collective, handedIn: HandedIn): Stages {
    if (collective.kind === 'broadcast') {
      const home = this.#firsts.findLastIndex((first) => first <= collective.root);
      return broadcastStages(this.#levels, collective.root, home, handedIn);
    }
    if (collective.kind === 'all-gather') return allGatherStages(this.#levels, handedIn, this.#scratch);
    return allReduceStages(this.#levels, (collective as { op: 'sum' }).op, handedIn, this.#scratch);
  }

  /** @returns what all workers have to agree about */
  #check(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    { signal, sharedResult, layout }: RunOptions,
  ): number {
    const details = { operation: nameOf(collective) };
    if (this.#isClosed) throw closedError(details);
    if (signal?.aborted) throw abortedError('before it began', signal, details);
    const { size, localRanks } = this;
    validateBuffers({ collective, size, localRanks, sharedResult }, inputs, outputs);
    const { dtype } = (rootOf(collective) === undefined ? inputs[0] : outputs[0]) as Tensor;
    const refused = this.refuses(collective, dtype);
    if (refused !== undefined) throw refusedError(refused, details);
    return requestOf(collective, dtype, layout);
  }
}

const homeward: Collective = { kind: 'broadcast', root: 0 };

/** Whether the ranks here have one memory for their results. */
function isOneResult(outputs: readonly Tensor[], { sharedResult }: RunOptions): boolean {
  const [first, ...others] = outputs as readonly [Tensor, ...Tensor[]];
  const { buffer, byteOffset } = first.data;
  const isSame = others.every(({ data }) => data.buffer === buffer && data.byteOffset === byteOffset);
  return sharedResult === true && others.length > 0 && isSame;
}

function firstRefusal(parts: readonly WorkerPart[], collective: Collective, dtype: DType): string | undefined {
  const several = parts.filter(({ communicator }) => communicator.size > 1);
  return several
    .map(({ communicator }) => communicator.refuses(collective, dtype))
    .find((refused) => refused !== undefined);
}

function requireFit(within: readonly Communicator[], across: Communicator, sizes: readonly number[]): void {
  const fail = (problem: string) => new ValueError('ERR_COLL_VALUE', `hierarchical: ${problem}`);
  if (within.length === 0 || within.length !== across.localRanks.length) {
    throw fail(`across has ${across.localRanks.length} leaders here, but there are ${within.length} workers within`);
  }
  if (sizes.length !== across.size) {
    throw fail(`ranksPerWorker tells of ${sizes.length} workers, but across has ${across.size} leaders`);
  }
  for (const [index, { size, localRanks }] of within.entries()) {
    const worker = across.localRanks[index] as number;
    if (localRanks.length !== size)
      throw fail(`only ${localRanks.length} of the ${size} ranks of worker ${worker} are here`);
    if (size !== sizes[worker])
      throw fail(`worker ${worker} has ${size} ranks, not ${sizes[worker]}: pass ranksPerWorker`);
  }
}
