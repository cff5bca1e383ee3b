import { refusedArithmetic } from '../arithmetic.js';
import { refusedCollective, validateBuffers } from '../buffers.js';
import { abortedError, busyError, closedError, refusedError } from '../call-errors.js';
import { type Collective, type CollectiveOp, nameOf, rootOf } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import { accumulatorOf, type DType } from '../dtype.js';
import { CollError, ValueError } from '../errors.js';
import { elementaryOp } from '../kernels/combine.js';
import type { Tensor } from '../tensor.js';
import { finish, reducesToLeader, requestOf, Scratch, widened } from './hierarchical-stages.js';

/** Where a rank of a worker is among those of all workers, which have as many ranks each. */
export interface WorkerSeatOptions {
  /** How many there are. */
  readonly workers: number;
  /** The number of this rank's worker. */
  readonly worker: number;
  /** Among the first ranks of all workers; of the first rank of a worker only, which does for all of them what goes beyond it. */
  readonly across?: Communicator | undefined;
}

/** A collective of the ranks of a worker, or of the first ranks of all. */
interface Stage {
  readonly communicator: Communicator;
  readonly collective: Collective;
  readonly input: Tensor;
  readonly output: Tensor;
}

/**
 * One rank of a worker whose other ranks are in other threads: two levels, as `hierarchical` has them, seen by one of their ranks. It has all-reduce,
 * broadcast and all-gather; ranks are numbered worker by worker. Collectives run one after the other. Closing it closes both levels.
 * @throws ValueError where the parts do not fit together
 */
export function rankOfWorker(within: Communicator, options: WorkerSeatOptions): Communicator {
  return new RankOfWorker(within, options);
}

class RankOfWorker implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #within: Communicator;
  readonly #across: Communicator | undefined;
  readonly #worker: number;
  readonly #place: number;
  readonly #scratch = new Scratch();
  #tail: Promise<void> | undefined;
  #isClosed = false;

  constructor(within: Communicator, { workers, worker, across }: WorkerSeatOptions) {
    const [place, ...others] = within.localRanks as readonly [number, ...number[]];
    if (others.length > 0) throw misfit(`one rank is here, not ${within.localRanks.length}`);
    if ((place === 0) !== (across !== undefined))
      throw misfit('the first rank of a worker, and no other, goes beyond it');
    if (across && (across.size !== workers || across.localRanks[0] !== worker))
      throw misfit(
        `across has ${across.size} ranks and is rank ${across.localRanks}, not worker ${worker} of ${workers}`,
      );
    this.size = workers * within.size;
    this.localRanks = [worker * within.size + place];
    this.#within = within;
    this.#across = across;
    this.#worker = worker;
    this.#place = place;
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    const refused = refusedCollective(collective, dtype, this.size);
    if (refused !== undefined) return refused;
    switch (collective.kind) {
      case 'all-reduce':
        return refusedArithmetic(collective.op, dtype);
      case 'broadcast':
      case 'all-gather':
        return undefined;
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
    const mine = (async () => {
      await before?.catch(() => {});
      for (const { communicator, collective: part, input, output } of this.#stages(collective, inputs, outputs)) {
        await communicator
          .run(part, [input], [output], { ...options, layout })
          .catch((error: unknown) => Promise.reject(this.#retold(error, communicator)));
      }
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
    for (const { communicator, collective: part, input, output } of this.#stages(collective, inputs, outputs)) {
      try {
        communicator.runSync(part, [input], [output], { ...options, layout });
      } catch (error) {
        throw this.#retold(error, communicator);
      }
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await Promise.all([this.#within.close(), this.#across?.close()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #stages(collective: Collective, [input]: readonly Tensor[], [output]: readonly Tensor[]): Iterable<Stage> {
    const [from, into] = [input as Tensor, output as Tensor];
    if (collective.kind === 'broadcast') return this.#broadcast(collective.root, from, into);
    if (collective.kind === 'all-gather') return this.#allGather(from, into);
    return this.#allReduce((collective as { op: CollectiveOp }).op, from, into);
  }

  /** Within, across, back. Half types are float32 until the end; a mean is divided once, by all ranks. */
  *#allReduce(op: CollectiveOp, input: Tensor, output: Tensor): Generator<Stage, void, undefined> {
    const within = this.#within;
    const across = this.#across;
    const wide = accumulatorOf(input.dtype);
    const base = elementaryOp(op);
    const mine = wide === input.dtype ? input : widened(input, 0, this.#scratch);
    const sum = this.#scratch.take('sum', wide, input.data.length);
    const isReduce = reducesToLeader(within, base, wide);
    const up: Collective = isReduce ? { kind: 'reduce', op: base, root: 0 } : { kind: 'all-reduce', op: base };
    // Nobody but the root has an output, so that any tensor can stand there.
    yield { communicator: within, collective: up, input: mine, output: isReduce && !across ? mine : sum };
    if (across) {
      const isDirect = wide === output.dtype && op !== 'mean';
      const total = isDirect ? output : sum;
      yield { communicator: across, collective: { kind: 'all-reduce', op: base }, input: sum, output: total };
      finish(total, output, op === 'mean' ? this.size : undefined);
    }
    yield this.#handOut(output);
  }

  /** In the root's worker first, then across, and in all others. */
  *#broadcast(root: number, input: Tensor, output: Tensor): Generator<Stage, void, undefined> {
    const [home, place] = [Math.floor(root / this.#within.size), root % this.#within.size];
    const isHome = home === this.#worker;
    if (isHome) {
      const collective: Collective = { kind: 'broadcast', root: place };
      yield { communicator: this.#within, collective, input: place === this.#place ? input : output, output };
    }
    if (this.#across) {
      yield { communicator: this.#across, collective: { kind: 'broadcast', root: home }, input: output, output };
    }
    if (!isHome) yield this.#handOut(output);
  }

  *#allGather(input: Tensor, output: Tensor): Generator<Stage, void, undefined> {
    const collective: Collective = { kind: 'all-gather' };
    const block = this.#scratch.take('block', input.dtype, input.data.length * this.#within.size);
    yield { communicator: this.#within, collective, input, output: block };
    if (this.#across) yield { communicator: this.#across, collective, input: block, output };
    yield this.#handOut(output);
  }

  #handOut(output: Tensor): Stage {
    return { communicator: this.#within, collective: { kind: 'broadcast', root: 0 }, input: output, output };
  }

  /** An error of a level, which counts its own ranks, told in those of the whole. */
  #retold(error: unknown, communicator: Communicator): unknown {
    if (!(error instanceof CollError) || !(error.constructor.prototype instanceof CollError)) return error;
    const ranks = this.#within.size;
    const first = this.#worker * ranks;
    const isAcross = communicator === this.#across;
    const where = isAcross
      ? `across workers, of which worker w has ranks from ${ranks} w on`
      : `within worker ${this.#worker}, whose rank 0 is rank ${first}`;
    const { code, message, cause, rank, operation } = error;
    const known = rank === undefined ? undefined : isAcross ? rank * ranks : first + rank;
    const Same = error.constructor as typeof CollError;
    return new Same(code, `${message} (${where})`, {
      cause,
      ...(known === undefined ? {} : { rank: known }),
      ...(operation === undefined ? {} : { operation }),
    });
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

function misfit(problem: string): ValueError {
  return new ValueError('ERR_COLL_VALUE', `rankOfWorker: ${problem}`);
}
