import { refusedCollective, validateBuffers } from '../buffers.js';
import { type Collective, nameOf, outputDType, outputLength } from '../collective.js';
import type { Communicator, RunOptions } from '../communicator.js';
import { accumulatorOf, byteSize, type DType, viewOf } from '../dtype.js';
import { AbortedError, RuntimeError, ValueError } from '../errors.js';
import type { Algorithm } from '../schedule/schedule.js';
import { copyElements, type Tensor } from '../tensor.js';
import { Arena } from './arena.js';
import { Descriptors, nowhere } from './descriptors.js';
import { Plans, type ThreadPlan } from './plans.js';
import { Rendezvous, type Wait } from './rendezvous.js';
import type { ThreadGroup } from './thread-group.js';

export interface JoinOptions {
  readonly rank: number;
  readonly algorithm: Algorithm;
}

/**
 * One rank of a group of threads. Memory from `allocate` is shared and used in place; other memory is copied into the
 * shared arena and back. Each rank works off its own part of the buffer, straight from its peers' memory, where the schedule's
 * arithmetic is a chain, and plays the schedule round by round where it is not. Nothing is posted between threads.
 *
 * A collective meets twice: when all have said what they bring, and when all are done.
 */
export class ThreadCommunicator implements Communicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly #rank: number;
  readonly #arena: Arena;
  readonly #rendezvous: Rendezvous;
  readonly #descriptors: Descriptors;
  readonly #plans: Plans;
  readonly #staging = new Map<string, { at: number; bytes: number }>();
  #tail: Promise<void> | undefined;
  #isClosed = false;

  constructor(group: ThreadGroup, { rank, algorithm }: JoinOptions) {
    if (!(Number.isInteger(rank) && rank >= 0 && rank < group.size))
      throw new ValueError('ERR_COLL_VALUE', `rank ${rank} is not one of ${group.size}`);
    this.size = group.size;
    this.localRanks = [rank];
    this.#rank = rank;
    this.#arena = new Arena(group.arena);
    this.#rendezvous = new Rendezvous(group.control, group.size, group.spins);
    this.#descriptors = new Descriptors(group.descriptors, group.size);
    this.#plans = new Plans(algorithm, group.size, this.#arena, this.#descriptors);
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return refusedCollective(collective, dtype, this.size) ?? this.#plans.refuses(collective);
  }

  allocate(dtype: DType, length: number): Tensor {
    return this.#arena.allocate(dtype, length);
  }

  runSync(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): void {
    const operation = nameOf(collective);
    if (this.#tail) {
      throw new RuntimeError(
        'ERR_COLL_BUSY',
        `${operation}: an asynchronous collective of rank ${this.#rank} is still running; await it first`,
        { operation },
      );
    }
    this.#check(collective, inputs, outputs, options);
    const wait = this.#wait(operation, options);
    for (const count of this.#play(collective, inputs[0] as Tensor, outputs[0] as Tensor, options))
      this.#rendezvous.waitSync(count, wait);
  }

  /** Collectives of a rank run one after the other, in the order of the calls. */
  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: RunOptions = {},
  ): Promise<void> {
    this.#check(collective, inputs, outputs, options);
    const before = this.#tail;
    const mine = (async () => {
      await before?.catch(() => {});
      await this.#runAlone(collective, inputs[0] as Tensor, outputs[0] as Tensor, options);
    })();
    this.#tail = mine;
    try {
      await mine;
    } finally {
      if (this.#tail === mine) this.#tail = undefined;
    }
  }

  /** Leaves the group: whoever waits for this rank afterwards gets an error. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#rendezvous.fail(this.#rank, 'closed', `rank ${this.#rank} has left the group`);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #runAlone(collective: Collective, input: Tensor, output: Tensor, options: RunOptions): Promise<void> {
    const operation = nameOf(collective);
    const { signal } = options;
    const abort = () => this.#rendezvous.fail(this.#rank, 'aborted', `rank ${this.#rank} aborted: ${signal?.reason}`);
    // A pending Atomics.waitAsync does not keep a thread's event loop alive; a timer does.
    const alive = setInterval(() => {}, 2 ** 30);
    signal?.addEventListener('abort', abort);
    try {
      if (signal?.aborted) abort();
      this.#requireSound(operation);
      const wait = this.#wait(operation, options);
      for (const count of this.#play(collective, input, output, options)) await this.#rendezvous.wait(count, wait);
    } catch (error) {
      if (!(error instanceof AbortedError && signal?.aborted)) throw error;
      throw new AbortedError(error.code, error.message, { rank: this.#rank, operation, cause: signal.reason });
    } finally {
      clearInterval(alive);
      signal?.removeEventListener('abort', abort);
    }
  }

  // A call that was queued behind one that failed must not begin: it would overwrite what the others still look at.
  #requireSound(operation: string): void {
    const failure = this.#rendezvous.failure(operation);
    if (failure) throw failure;
  }

  #check(collective: Collective, inputs: readonly Tensor[], outputs: readonly Tensor[], { signal }: RunOptions): void {
    const operation = nameOf(collective);
    const details = { operation, rank: this.#rank };
    if (this.#isClosed)
      throw new RuntimeError(
        'ERR_COLL_CLOSED',
        `${operation}: rank ${this.#rank} has closed this communicator`,
        details,
      );
    this.#requireSound(operation);
    if (signal?.aborted)
      throw new AbortedError('ERR_COLL_ABORTED', `${operation} was aborted before it began`, {
        ...details,
        cause: signal.reason,
      });
    validateBuffers({ collective, size: this.size, localRanks: this.localRanks }, inputs, outputs);
    const refused = this.refuses(collective, (inputs[0] as Tensor).dtype);
    if (refused) throw new ValueError('ERR_COLL_REFUSED', `${operation}: ${refused}`, details);
  }

  #wait(operation: string, { timeoutSeconds }: RunOptions): Wait {
    const isBounded = timeoutSeconds && timeoutSeconds > 0;
    return { rank: this.#rank, operation, deadline: isBounded ? Date.now() + timeoutSeconds * 1000 : undefined };
  }

  /** The collective with its meetings left out: yields the count that everybody must have come to before it goes on. */
  *#play(
    collective: Collective,
    input: Tensor,
    output: Tensor,
    { layout = 0 }: RunOptions,
  ): Generator<number, void, undefined> {
    const dtype = collective.kind === 'broadcast' ? output.dtype : input.dtype;
    const plan = this.#plans.find(collective, dtype);
    if (plan.fold) yield* this.#playFused(plan, layout, input, output);
    else yield* this.#playRounds(plan, layout, input, output);
  }

  *#playFused(plan: ThreadPlan, layout: number, input: Tensor, output: Tensor): Generator<number, void, undefined> {
    const { collective, dtype } = plan;
    const [reads, writes] = [this.#reads(collective), this.#writes(collective)];
    const inputAt = reads ? this.#stage('input', input) : nowhere;
    const outputAt = writes ? this.#outputPlace(input, output, inputAt) : nowhere;
    if (reads && !this.#arena.holds(input.data))
      copyElements(this.#view(dtype, inputAt, input.data.length), input.data);
    const length = this.#wholeLength(collective, input, output);
    const asked = { collective, dtype, length, schedule: plan.number, layout };
    this.#descriptors.write(this.#rank, { ...asked, inputAt, outputAt, workAt: nowhere });
    yield this.#rendezvous.advance(this.#rank);
    this.#refuseDisagreement(plan, input, output);
    this.#plans.playShare(plan, this.#rank, length);
    yield this.#rendezvous.advance(this.#rank);
    if (writes && !this.#arena.holds(output.data))
      copyElements(output.data, this.#view(output.dtype, outputAt, output.data.length));
  }

  *#playRounds(plan: ThreadPlan, layout: number, input: Tensor, output: Tensor): Generator<number, void, undefined> {
    const { collective, dtype } = plan;
    const length = this.#wholeLength(collective, input, output);
    const workAt = this.#reserve('work', length * byteSize(accumulatorOf(dtype)));
    if (this.#reads(collective)) this.#plans.load(plan, this.#rank, workAt, input);
    const placeOf = ({ data }: Tensor) => (this.#arena.holds(data) ? data.byteOffset : nowhere);
    const inputAt = this.#reads(collective) ? placeOf(input) : nowhere;
    const outputAt = this.#writes(collective) ? placeOf(output) : nowhere;
    const asked = { collective, dtype, length, schedule: plan.number, layout };
    this.#descriptors.write(this.#rank, { ...asked, inputAt, outputAt, workAt });
    yield this.#rendezvous.advance(this.#rank);
    this.#refuseDisagreement(plan, input, output);
    for (let round = 0; round < plan.schedule.rounds.length; round++) {
      this.#plans.playRound(plan, this.#rank, round, length);
      yield this.#rendezvous.advance(this.#rank);
    }
    if (this.#writes(collective)) this.#plans.store(plan, this.#rank, workAt, length, output);
  }

  #refuseDisagreement({ collective, dtype }: ThreadPlan, input: Tensor, output: Tensor): void {
    const operation = nameOf(collective);
    const inputBytes = input.data.length * byteSize(dtype);
    const outputBytes = output.data.length * byteSize(outputDType(collective, dtype));
    const error = this.#descriptors.mismatch() ?? this.#descriptors.overlap(operation, inputBytes, outputBytes);
    if (!error) return;
    this.#rendezvous.fail(error.rank ?? this.#rank, 'peer', `an earlier collective failed: ${error.message}`);
    throw error;
  }

  #reads(collective: Collective): boolean {
    return collective.kind !== 'broadcast' || collective.root === this.#rank;
  }

  #writes(collective: Collective): boolean {
    return collective.kind !== 'reduce' || collective.root === this.#rank;
  }

  #wholeLength(collective: Collective, input: Tensor, output: Tensor): number {
    if (collective.kind === 'broadcast') return output.data.length;
    return collective.kind === 'all-gather'
      ? outputLength(collective, input.data.length, this.size)
      : input.data.length;
  }

  /** Where in the arena a tensor is, or will be copied to. */
  #stage(purpose: string, { data }: Tensor): number {
    return this.#arena.holds(data) ? data.byteOffset : this.#reserve(purpose, data.byteLength);
  }

  // Private memory that goes in and comes out in the same form needs one staged copy, not two.
  #outputPlace(input: Tensor, output: Tensor, inputAt: number): number {
    if (this.#arena.holds(output.data)) return output.data.byteOffset;
    const sharesStaging =
      inputAt !== nowhere &&
      !this.#arena.holds(input.data) &&
      input.dtype === output.dtype &&
      input.data.length === output.data.length;
    return sharesStaging ? inputAt : this.#reserve('output', output.data.byteLength);
  }

  #reserve(purpose: string, bytes: number): number {
    const kept = this.#staging.get(purpose);
    if (kept && kept.bytes >= bytes) return kept.at;
    // Doubling bounds what outgrown places waste: the arena does not take memory back.
    const wanted = Math.max(bytes, 2 * (kept?.bytes ?? 0), 4096);
    const made = { at: this.#arena.reserve(wanted), bytes: wanted };
    this.#staging.set(purpose, made);
    return made.at;
  }

  #view(dtype: DType, at: number, length: number): Tensor['data'] {
    return viewOf(dtype, this.#arena.bytes, at, length);
  }
}
