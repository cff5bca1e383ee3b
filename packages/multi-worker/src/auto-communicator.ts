import type {
  Collective,
  Communicator,
  DType,
  PersistentCollective,
  ProcessGroup,
  RunOptions,
  Segments,
  Tensor,
} from '@coll/core';
import {
  checkedCall,
  communicatorFor,
  endedAtOnce,
  inputBlocks,
  outputBlocks,
  requireCall,
  requireGivenGroup,
  requireRunOptions,
  routeAlgorithm,
} from '@coll/core/internal';
import {
  abortedError,
  closedError,
  ForwardingCommunicator,
  listOf,
  nameOf,
  reads,
  refusedCollective,
  refusedError,
} from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import type { AlgorithmChoice, SizeClass } from './algorithm-choices.js';
import { type LinkTuning, tuningOf } from './link-tuning.js';

type Buffers = readonly Segments[];

/**
 * A placeholder for an algorithm. If it is passed to `connectGroup`, or to a function that opens a
 * group, the communicator chooses the fastest algorithm for each kind and size of collective. Other
 * communicators cannot choose, and execute the `direct` algorithm.
 *
 * @example
 * ```ts
 * import { autoAlgorithm } from '@coll/multi-worker';
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * // Under `coll run`, only the algorithm is needed.
 * const jobKey = TcpStoreServer.newKey();
 * const place = { store: new MemoryStore(), rank: 0, size: 1, jobKey };
 * await using group = await openProcessGroup({ ...place, algorithm: autoAlgorithm() });
 * console.log(await group.allReduce('sum', new Float32Array([1, 2]))); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export function autoAlgorithm(): Algorithm {
  return auto;
}

const auto: Algorithm = { ...directAlgorithm(), name: 'auto' };
routeAlgorithm(auto, (group) => new AutoCommunicator(group));

/**
 * A communicator of a group of processes. With `autoAlgorithm()` it chooses an algorithm per kind
 * and size of collective, by the speed of the group's links. At the first collective, all members
 * measure the links, for a few milliseconds on short links and about half a second on slow ones;
 * later collectives wait for the measurement.
 * @throws ValueError unless `group` is an open group of processes
 *
 * @example
 * ```ts
 * import { tensor } from '@coll/core';
 * import { autoAlgorithm, connectGroup } from '@coll/multi-worker';
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * const jobKey = TcpStoreServer.newKey();
 * const store = new MemoryStore();
 * await using group = await openProcessGroup({ store, rank: 0, size: 1, jobKey });
 * const communicator = connectGroup(group, autoAlgorithm());
 * const buffers = [tensor(new Float32Array([1, 2]))];
 * await communicator.run({ kind: 'all-reduce', op: 'sum' }, buffers, buffers);
 * console.log(buffers[0]?.data); // Float32Array(2) [ 1, 2 ]
 * ```
 */
export function connectGroup(group: ProcessGroup, algorithm: Algorithm): Communicator {
  requireGivenGroup(group);
  return communicatorFor(group, algorithm);
}

/**
 * The algorithms chosen for a group's collectives so far, and their times.
 * @throws ValueError unless `group` is an open group of processes
 *
 * @example
 * ```ts
 * import { autoAlgorithm, choicesOf } from '@coll/multi-worker';
 * import { openProcessGroup } from '@coll/processes';
 * import { MemoryStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * const jobKey = TcpStoreServer.newKey();
 * const place = { store: new MemoryStore(), rank: 0, size: 1, jobKey };
 * await using group = await openProcessGroup({ ...place, algorithm: autoAlgorithm() });
 * await group.allReduce('sum', new Float32Array([1, 2]));
 * const [choice] = choicesOf(group);
 * console.log(choice?.kind, choice?.chosen); // all-reduce direct
 * ```
 */
export function choicesOf(group: ProcessGroup): readonly AlgorithmChoice[] {
  requireGivenGroup(group);
  return tuningOf(group).explained;
}

/** Passes each collective to the communicator of the algorithm chosen for its size. */
class AutoCommunicator extends ForwardingCommunicator {
  readonly #tuning: LinkTuning;
  /** The communicators of the candidates, in their order. */
  readonly #communicators: readonly Communicator[];
  #isClosed = false;

  constructor(group: ProcessGroup) {
    const tuning = tuningOf(group);
    const communicators = tuning.algorithms.map((algorithm) => group.communicator(algorithm));
    super(communicators[0] as Communicator);
    this.#tuning = tuning;
    this.#communicators = communicators;
  }

  override refuses(collective: Collective, dtype: DType): string | undefined {
    const refused = this.#communicators.map((communicator) => communicator.refuses(collective, dtype));
    return refused.includes(undefined) ? undefined : refused[0];
  }

  override run(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    const known = this.#known(collective, inputs, outputs);
    if (!known) return this.#runUnknown(collective, inputs, outputs, options);
    return followed(known, known.begin(), this.#of(known).run(collective, inputs, outputs, options));
  }

  override runSync(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    let choice = this.#known(collective, inputs, outputs);
    if (!choice) {
      this.#requireExecutable(collective, inputs, outputs, options);
      const choices = this.#tuning.beginSync(options, collective);
      choice = choices.choose(collective, bytesOf(collective, this, inputs, outputs));
    }
    const begin = choice.begin();
    this.#of(choice).runSync(collective, inputs, outputs, options);
    choice.ended(begin, this.#tuning.slowCalls);
  }

  /** Undefined until an algorithm was chosen for collectives of this size. */
  override persistent(
    collective: Collective,
    inputs: Buffers,
    outputs: Buffers,
    options?: RunOptions,
  ): PersistentCollective | undefined {
    const choice = this.#known(collective, inputs, outputs);
    const prepared = choice && this.#of(choice).persistent?.(collective, inputs, outputs, options);
    return (
      prepared && {
        run: () => followed(choice, choice.begin(), prepared.run()),
        runSync: () => {
          const begin = choice.begin();
          prepared.runSync();
          choice.ended(begin, this.#tuning.slowCalls);
        },
      }
    );
  }

  /** Closes the communicators of all algorithms; the group stays open. */
  override async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#communicators.map((communicator) => communicator.close()));
  }

  /**
   * The choice for collectives like this one; undefined if none was made yet. The communicator of
   * the chosen algorithm checks the call.
   */
  #known(collective: Collective, inputs: Buffers, outputs: Buffers): SizeClass | undefined {
    const { choices } = this.#tuning;
    const isCall =
      typeof collective === 'object' && collective !== null && Array.isArray(inputs) && Array.isArray(outputs);
    if (!choices || !isCall) return undefined;
    return choices.known(collective.kind, bytesOf(collective, this, inputs, outputs));
  }

  async #runUnknown(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): Promise<void> {
    this.#requireExecutable(collective, inputs, outputs, options);
    await this.#tuning.begin(
      (choices, inTurn) => {
        const choice = choices.choose(collective, bytesOf(collective, this, inputs, outputs));
        return followed(choice, choice.begin(), this.#of(choice).run(collective, inputs, outputs, inTurn));
      },
      options,
      collective,
    );
  }

  /** Throws if the call is not supported, before any message measures the links. Counts a refused call. */
  #requireExecutable(collective: Collective, inputs: Buffers, outputs: Buffers, options?: RunOptions): void {
    try {
      this.#check(collective, inputs, outputs, options);
    } catch (error) {
      this.group.order.refuse(error);
      throw error;
    }
  }

  #check(collective: Collective, inputs: Buffers, outputs: Buffers, options: RunOptions = {}): void {
    requireRunOptions(options);
    requireCall(collective, inputs, outputs);
    const details = () => ({ operation: nameOf(collective) });
    if (this.#isClosed) throw closedError(details());
    const { size, localRanks } = this;
    const lists = { inputs: inputs.map(listOf), outputs: outputs.map(listOf) };
    const { dtype } = checkedCall({ collective, size, localRanks, ...lists }, options);
    const refused = refusedCollective(collective, dtype, size);
    if (refused !== undefined) throw refusedError(refused, details());
    if (options.signal?.aborted) throw abortedError('before it began', options.signal, details());
  }

  #of({ chosen }: SizeClass): Communicator {
    return this.#communicators[chosen] as Communicator;
  }
}

function followed(choice: SizeClass, begin: number | undefined, running: Promise<void>): Promise<void> {
  if (running !== endedAtOnce) return running.then(() => choice.ended(begin));
  choice.ended(begin);
  return running;
}

/**
 * Number of bytes of the longest input or output of any rank, computed from the buffer of this
 * rank.
 */
function bytesOf(
  collective: Collective,
  { size, localRanks }: Communicator,
  inputs: Buffers,
  outputs: Buffers,
): number {
  const into = inputBlocks(collective, size);
  const outOf = outputBlocks(collective, size);
  const isRead = reads(collective, localRanks[0]);
  return (byteLengthOf((isRead ? inputs : outputs)[0]) / (isRead ? into : outOf)) * Math.max(into, outOf);
}

/** What is not a tensor has no bytes here; the communicator that executes the call refuses it. */
function byteLengthOf(buffer: Segments | undefined): number {
  if (Array.isArray(buffer)) return buffer.reduce((sum: number, segment: Tensor) => sum + byteLengthOf(segment), 0);
  return (buffer as Partial<Tensor> | undefined)?.data?.byteLength ?? 0;
}
