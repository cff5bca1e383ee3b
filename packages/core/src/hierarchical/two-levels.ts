import { refusedCollective, validateBuffers } from '../collectives/buffers.js';
import { abortedError, busyError, closedError, refusedError } from '../collectives/call-errors.js';
import type { CallerRequest } from '../collectives/caller-request.js';
import { type Collective, nameOf, refusedArithmetic, rootOf } from '../collectives/collective.js';
import { failureError } from '../collectives/failures.js';
import { requireCollError } from '../members/controller-group.js';
import { refusedMessages } from '../messages/refused-messages.js';
import { JoiningCommunicator } from '../packing/joining-communicator.js';
import { CallOrder, type Turn } from '../runtime/call-order.js';
import type { Communicator, Group, RunOptions } from '../runtime/communicator.js';
import { untilAllHaveEnded } from '../runtime/until-all-have-ended.js';
import type { CollError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import { type HandedIn, type Job, requestOf, type Stage, type Stages } from './hierarchical-stages.js';
import type { Level } from './level.js';
import { LevelWatch } from './level-watch.js';
import { isKnown } from './rank-names.js';

// Added to the timeout of a rank that waits for a rank which itself waits for other workers, so that
// the error names the rank that is missing and not the waiting one.
const graceSeconds = 1;

/** The parts of a communicator with two levels. */
export interface TwoLevelsOptions {
  readonly size: number;
  readonly localRanks: readonly number[];
  /** The levels of the hierarchy, such as within and between hosts; the first one allocates the memory. */
  readonly levels: readonly Level[];
  /** The communicator whose group keeps the order of calls. */
  readonly owner: Communicator;
  /** Creates a communicator of the same ranks and levels that runs another algorithm. */
  readonly communicator: Group['communicator'];
}

/** Options of the collectives that make up a call. */
interface CallOptions extends RunOptions {
  readonly request: CallerRequest;
}

/**
 * Combines levels into one communicator, which executes a collective as stages: collectives of its
 * levels, one after the other. Supports all-reduce, broadcast and all-gather. Calls also run one
 * after the other, so that all workers execute them in the same order. A failed stage ends the call
 * for all ranks of all levels at once. Closing the communicator closes the levels.
 */
export abstract class TwoLevels extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #levels: readonly Level[];
  /**
   * Watches the levels (groups within and across workers) for failures; undefined unless several
   * levels have remote ranks.
   */
  readonly #watch: LevelWatch | undefined;
  /**
   * Keeps the order of calls that share one turn (a place in the group's call order); these calls,
   * too, run one after the other.
   */
  readonly #inTurn = new CallOrder();
  #hasFailed = false;
  #isClosed = false;

  constructor({ size, localRanks, levels, owner, communicator }: TwoLevelsOptions) {
    super();
    this.size = size;
    this.localRanks = localRanks;
    this.#levels = levels;
    this.group = this.#groupOf(owner, communicator);
    for (const level of levels) this.group.order.include(level.communicator.group.order);
    const waiting = levels.filter(({ hasOthers }) => hasOthers);
    this.#watch = waiting.length > 1 ? new LevelWatch(waiting, (error) => this.#fail(error)) : undefined;
  }

  /**
   * The reason why the levels (groups within and across workers) cannot run a supported collective;
   * undefined if they can.
   */
  protected abstract levelsRefuse(collective: Collective, dtype: DType): string | undefined;

  /** The stages that execute a call. Each stage is a list of collectives that run concurrently. */
  protected abstract stages(collective: Collective, handedIn: HandedIn): Stages;

  refuses(collective: Collective, dtype: DType): string | undefined {
    const { kind } = collective;
    const refused = refusedCollective(collective, dtype, this.size);
    if (refused !== undefined) return refused;
    if (!(kind === 'all-reduce' || kind === 'broadcast' || kind === 'all-gather')) {
      return `a hierarchical communicator supports all-reduce, broadcast and all-gather, but not ${kind}`;
    }
    const arithmetic = kind === 'all-reduce' ? refusedArithmetic(collective.op, dtype) : undefined;
    return arithmetic ?? this.levelsRefuse(collective, dtype);
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    given: RunOptions = {},
  ): Promise<void> {
    const options = this.#check(collective, inputs, outputs, given);
    const runStages = async (turn: Turn) => {
      this.#requireUnfailed();
      try {
        for (const stage of this.stages(collective, handedInOf(inputs, outputs, given)))
          await this.#run(stage, { ...options, turn });
      } catch (error) {
        throw this.#failedBy(error, collective);
      }
    };
    const { turn } = given;
    await (turn ? this.#inTurn.hold(() => runStages(turn)) : this.group.order.hold(runStages));
  }

  protected runWholeSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    given: RunOptions = {},
  ): void {
    const options = this.#check(collective, inputs, outputs, given);
    if (this.group.order.isHeld && !given.turn) throw this.refused(busyError({ operation: nameOf(collective) }));
    this.#requireUnfailed();
    try {
      for (const stage of this.stages(collective, handedInOf(inputs, outputs, given))) this.#runSync(stage, options);
    } catch (error) {
      throw this.#failedBy(error, collective);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch?.end();
    await Promise.all(this.#levels.map(({ communicator }) => communicator.close()));
  }

  #groupOf(owner: Communicator, communicator: Group['communicator']): Group {
    const failure = () => this.#levels.map((level) => level.failure).find((found) => found !== undefined);
    return {
      order: owner.group.order,
      get failure() {
        return failure();
      },
      fail: (error) => this.#fail(error),
      allocate: (dtype, length) => (this.#levels[0] as Level).communicator.group.allocate(dtype, length),
      communicator,
      ...refusedMessages('a hierarchical communicator'),
    };
  }

  #fail(error: CollError): void {
    requireCollError(error);
    this.#hasFailed = true;
    this.#watch?.end();
    for (const level of this.#levels) level.fail(error);
  }

  async #run(stage: Stage, options: CallOptions): Promise<void> {
    this.#watch?.begin(stage.later);
    try {
      await untilAllHaveEnded(
        stage.jobs.map(async (job) => {
          const { level, collective, inputs, outputs } = job;
          await level.communicator
            .run(collective, inputs, outputs, optionsOf(stage, job, options))
            .catch((error: unknown) => {
              throw level.translated(error);
            });
        }),
      );
    } finally {
      this.#watch?.rest();
    }
  }

  #runSync(stage: Stage, options: CallOptions): void {
    for (const job of stage.jobs) {
      const { level, collective, inputs, outputs } = job;
      try {
        level.communicator.runSync(collective, inputs, outputs, optionsOf(stage, job, options));
      } catch (error) {
        throw level.translated(error);
      }
    }
  }

  /** Fails all levels with the error that ended a call, and returns the error. */
  #failedBy(error: unknown, collective: Collective): unknown {
    const failure = { reason: 'failed', rank: this.localRanks[0] as number, ranks: [] } as const;
    const call = { operation: nameOf(collective) };
    this.#fail(isKnown(error) ? error : failureError({ ...failure, text: `failed: ${messageOf(error)}` }, call));
    return error;
  }

  #requireUnfailed(): void {
    const failure = this.#hasFailed ? this.group.failure : undefined;
    if (failure) throw failure;
  }

  #check(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions,
  ): CallOptions {
    try {
      return this.#checked(collective, inputs, outputs, options);
    } catch (error) {
      throw this.refused(error);
    }
  }

  #checked(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions,
  ): CallOptions {
    const details = { operation: nameOf(collective) };
    const { signal, sharedResult, layout } = options;
    if (this.#isClosed) throw closedError(details);
    if (signal?.aborted) throw abortedError('before it began', signal, details);
    const { size, localRanks } = this;
    validateBuffers({ collective, size, localRanks, sharedResult }, inputs, outputs);
    const { dtype } = (rootOf(collective) === undefined ? inputs[0] : outputs[0]) as Tensor;
    const refused = this.refuses(collective, dtype);
    if (refused !== undefined) throw refusedError(refused, details);
    const { length } = (collective.kind === 'all-gather' ? outputs[0] : inputs[0])?.data ?? [];
    const request = options.request ?? { collective, dtype, length };
    return { ...options, layout: requestOf(collective, dtype, layout), request };
  }
}

function optionsOf({ isBehind = false }: Stage, { level, isShared = false }: Job, options: CallOptions): CallOptions {
  const { timeoutSeconds, request } = options;
  const own = { ...options, sharedResult: isShared, request: { ...request, ranks: level.names } };
  return isBehind && timeoutSeconds && timeoutSeconds > 0
    ? { ...own, timeoutSeconds: timeoutSeconds + graceSeconds }
    : own;
}

function handedInOf(inputs: readonly Tensor[], outputs: readonly Tensor[], { sharedResult }: RunOptions): HandedIn {
  const [first, ...others] = outputs as readonly [Tensor, ...Tensor[]];
  const { buffer, byteOffset } = first.data;
  const isSame = others.every(({ data }) => data.buffer === buffer && data.byteOffset === byteOffset);
  return { inputs, outputs, isShared: sharedResult === true && others.length > 0 && isSame };
}
