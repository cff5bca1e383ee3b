import { availableParallelism } from 'node:os';
import {
  AbortedError,
  type Algorithm,
  type Collective,
  type Communicator,
  DeadlineExceededError,
  type DType,
  nameOf,
  type RunOptions,
  RuntimeError,
  type Tensor,
  ValueError,
} from '@coll/core';
import {
  beginsOf,
  type KnownCall,
  KnownCalls,
  lostRank,
  type Pieces,
  reads,
  sourceOf,
  validatePieces,
  writes,
} from '@coll/core/executor';
import { lostBuffer } from './lost-buffer.js';
import type { ControllerHandle, DealHandle, NativeBinding } from './native-binding.js';
import { Programs } from './programs.js';
import { NewCalls, nextTurn, settled } from './turns.js';

interface Deal {
  readonly handle: DealHandle;
  readonly length: number;
}

type Call = KnownCall<Deal>;

const noOptions: RunOptions = {};

/**
 * All ranks' buffers in one hand, played in C++ by the calling thread and helpers on the other cores. An asynchronous call that takes
 * more than a millisecond lets the event loop run in between.
 */
export class NativeCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #binding: NativeBinding;
  readonly #controller: ControllerHandle;
  readonly #programs: Programs;
  readonly #calls = new KnownCalls<Deal>();
  readonly #newCalls = new NewCalls();
  #tail: Promise<void> | undefined;
  #isClosed = false;

  /** @throws ValueError for a size below 1 */
  constructor(binding: NativeBinding, size: number, algorithm: Algorithm) {
    if (!(Number.isInteger(size) && size >= 1))
      throw new ValueError('ERR_COLL_VALUE', `a group has 1 rank or more, not ${size}`);
    this.size = size;
    this.localRanks = Array.from({ length: size }, (_, rank) => rank);
    this.#binding = binding;
    this.#controller = binding.controller(size, availableParallelism());
    this.#programs = new Programs(binding, algorithm, size);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#programs.refuses(collective, dtype);
  }

  runSync(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions = noOptions): void {
    this.#requireReady(collective, options);
    this.#playSync(this.#call(collective, inputs, outputs, options));
  }

  runPiecesSync(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions = noOptions,
  ): void {
    this.#requireReady(collective, options);
    this.#playSync(this.#callOfPieces(collective, inputs, outputs, options));
  }

  /** Collectives run one after the other, in the order of the calls. */
  run(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions = noOptions): Promise<void> {
    try {
      this.#requireOpen(collective, options);
      return this.#play(this.#call(collective, inputs, outputs, options), options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  runPieces(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions = noOptions,
  ): Promise<void> {
    try {
      this.#requireOpen(collective, options);
      return this.#play(this.#callOfPieces(collective, inputs, outputs, options), options);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#tail?.catch(() => {});
    this.#binding.close(this.#controller);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #requireReady(collective: Collective, options: RunOptions): void {
    this.#requireOpen(collective, options);
    if (!this.#tail) return;
    const operation = nameOf(collective);
    const told = `${operation}: an asynchronous collective is still running; await it first`;
    throw new RuntimeError('ERR_COLL_BUSY', told, { operation });
  }

  #requireOpen(collective: Collective, { signal }: RunOptions): void {
    if (!this.#isClosed && !signal?.aborted) return;
    const operation = nameOf(collective);
    if (this.#isClosed)
      throw new RuntimeError('ERR_COLL_CLOSED', `${operation}: this communicator was closed`, { operation });
    throw abortedError(collective, 'before it began', signal);
  }

  #call(collective: Collective, inputs: Pieces, outputs: Pieces, options: RunOptions): Call {
    const known = this.#calls.find(collective, inputs, outputs, options);
    return known ?? this.#deal(collective, inputs.map(alone), outputs.map(alone), options);
  }

  #callOfPieces(
    collective: Collective,
    inputs: readonly Pieces[],
    outputs: readonly Pieces[],
    options: RunOptions,
  ): Call {
    const known = this.#calls.findPieces(collective, inputs, outputs, options);
    return known ?? this.#deal(collective, inputs, outputs, options);
  }

  #deal(collective: Collective, inputs: readonly Pieces[], outputs: readonly Pieces[], options: RunOptions): Call {
    const { size, localRanks } = this;
    const isShared = options.sharedResult ?? false;
    const operation = nameOf(collective);
    const buffers = { collective, size, localRanks, isShared, inputs, outputs };
    validatePieces(buffers);
    const { dtype } = sourceOf(collective, localRanks, inputs, outputs)[0] as Tensor;
    const refused = this.refuses(collective, dtype);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, { operation });
    const program = this.#programs.find(collective, dtype);
    const begins = beginsOf(buffers);
    const handle = this.#binding.deal(
      program.handle,
      begins,
      inputs.map((pieces, rank) => (reads(collective, rank) ? pieces.map(({ data }) => data) : [])),
      outputs.map((pieces, rank) => (writes(collective, rank) ? pieces.map(({ data }) => data) : [])),
      isShared,
    );
    if (Array.isArray(handle)) {
      const [rank, other] = handle;
      const told = `one buffer was given twice: the output of rank ${rank} overlaps memory of rank ${other}`;
      throw new ValueError('ERR_COLL_BUFFER', `${operation}: ${told}`, { operation, rank });
    }
    this.#newCalls.add();
    const deal = { handle: handle as DealHandle, length: begins.at(-1) as number };
    return this.#calls.add(collective, inputs, outputs, options, deal);
  }

  #playSync({ handle: { handle, length } }: Call): void {
    let begin = 0;
    do begin = this.#binding.control(this.#controller, handle, begin);
    while (begin < length);
  }

  #play(call: Call, options: RunOptions): Promise<void> {
    if (this.#tail) return this.#follow(this.#goOn(call, 0, options, this.#tail));
    const { handle, length } = call.handle;
    const end = this.#binding.control(this.#controller, handle, 0);
    if (end < length) return this.#follow(this.#goOn(call, end, options));
    return this.#newCalls.isTurnDue() ? this.#follow(nextTurn()) : settled;
  }

  #follow(mine: Promise<void>): Promise<void> {
    this.#tail = mine;
    const leave = () => {
      if (this.#tail === mine) this.#tail = undefined;
    };
    mine.then(leave, leave);
    return mine;
  }

  async #goOn(call: Call, begin: number, options: RunOptions, before?: Promise<void>): Promise<void> {
    const deadline =
      options.timeoutSeconds && options.timeoutSeconds > 0 ? Date.now() + options.timeoutSeconds * 1000 : undefined;
    await (before ? before.catch(() => {}) : nextTurn());
    const { handle, length } = call.handle;
    for (let at = begin; ; await nextTurn()) {
      this.#requireGoing(call, options, deadline);
      at = this.#binding.control(this.#controller, handle, at);
      if (at >= length) return;
    }
  }

  /** Whether it may go on after other code has run. @throws AbortedError, DeadlineExceededError, ValueError */
  #requireGoing(call: Call, { signal }: RunOptions, deadline: number | undefined): void {
    const { collective } = call;
    if (signal?.aborted) throw abortedError(collective, 'while it was under way', signal);
    const operation = nameOf(collective);
    if (deadline !== undefined && Date.now() >= deadline)
      throw new DeadlineExceededError('ERR_COLL_DEADLINE', `${operation}: timed out while it was under way`, {
        operation,
      });
    const rank = lostRank(call, this.size);
    if (rank !== undefined) throw lostBuffer(operation, rank);
  }
}

function abortedError(collective: Collective, when: string, signal: AbortSignal | undefined): AbortedError {
  const operation = nameOf(collective);
  return new AbortedError('ERR_COLL_ABORTED', `${operation} was aborted ${when}`, { operation, cause: signal?.reason });
}

function alone<T>(tensor: T): readonly [T] {
  return [tensor];
}
