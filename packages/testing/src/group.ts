import type { Collective, DType, Tensor } from '@coll/core';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import type { SuiteAlgorithm } from './suite-algorithm.js';

/** How a collective is called. Undefined options are not passed on. */
export interface CallOptions {
  /** The method of the communicator to call. Default: `run`. */
  readonly mode?: 'run' | 'runSync';
  /** The timeout of the call, as in `RunOptions` of @coll/core. */
  readonly timeoutSeconds?: number | null;
  /** Whether the outputs of all ranks may share memory. */
  readonly sharedResult?: boolean;
  /**
   * When to abort the `AbortSignal` of the call: before the call, right after the call has returned
   * its promise, or once the call waits.
   */
  readonly abort?: 'before' | 'at once' | 'later';
  /**
   * Whether the call uses memory that the communicator's group allocates: tensors are copied into
   * this memory, and results copied back.
   */
  readonly isAllocated?: boolean;
  /**
   * Splits each buffer into segments that begin at element 0 and at these elements, in ascending
   * order.
   */
  readonly cuts?: readonly number[];
  /** Detaches the buffer of the first input or output before the call. */
  readonly detached?: 'input' | 'output';
  /** The byte offsets of the input and the output in memory that all members share. */
  readonly sharedAt?: { readonly input: number; readonly output: number };
}

const knownCallOptions = knownOptions<CallOptions>('TestGroup.run', {
  mode: true,
  timeoutSeconds: true,
  sharedResult: true,
  abort: true,
  isAllocated: true,
  cuts: true,
  detached: true,
  sharedAt: true,
});

/** A call of a collective with the buffers of some ranks. */
export interface Call extends CallOptions {
  readonly collective: Collective;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/** The outcome of a call: undefined if it succeeded, otherwise its error. */
export type Outcome = Error | undefined;

/** A member of a group, which makes calls with the buffers of its local ranks. */
export interface GroupMember {
  readonly localRanks: readonly number[];
  /** Returns the result of the method `refuses` of the member's communicator. */
  refuses(collective: Collective, dtype: DType): Promise<string | undefined>;
  /**
   * Makes the calls in order and returns their outcomes. Asynchronous calls do not wait for each
   * other. A call that fails does not reject the returned promise.
   */
  execute(calls: readonly Call[]): Promise<readonly Outcome[]>;
  /** Closes the member's communicator. */
  close(): Promise<void>;
  /**
   * Ends the member without notifying the others, as a crash would. Undefined if members cannot be
   * ended separately.
   */
  crash?(): Promise<void>;
  /**
   * Reserves some of the memory that all members share, and returns its byte offset. Undefined if
   * members share no memory.
   */
  reserve?(bytes: number): Promise<number>;
}

/**
 * Opens a group of `size` ranks that execute an algorithm. If `algorithm` is undefined, they
 * execute the executor's own algorithm.
 */
export type OpenGroup = (algorithm: SuiteAlgorithm | undefined, size: number) => TestGroup | Promise<TestGroup>;

/** The members from which a `TestGroup` is made. */
export interface GroupMembers {
  readonly members: readonly GroupMember[];
  /** Whether members may block, because each has its own thread. Default: true. */
  readonly canBlock?: boolean;
}

const groupMembers = knownOptions<GroupMembers>('TestGroup', { members: true, canBlock: true });

/**
 * All members of a group, for calling collectives on all of them at once.
 *
 * @example
 * ```ts
 * import { tensor, wasmEngine } from '@coll/core';
 * import { controllerGroup, type TestGroup } from '@coll/testing';
 *
 * const open = controllerGroup((algorithm, size) => wasmEngine.communicator(size, algorithm));
 * await using group: TestGroup = await open(undefined, 2);
 * const buffers = [tensor(new Float32Array([1])), tensor(new Float32Array([2]))];
 * await group.run({ kind: 'all-reduce', op: 'max' }, buffers, buffers, { mode: 'runSync' });
 * console.log(group.size, buffers[0]?.data); // 2 Float32Array(1) [ 2 ]
 * ```
 */
export class TestGroup implements AsyncDisposable {
  readonly size: number;
  readonly members: readonly GroupMember[];
  readonly canBlock: boolean;

  /** @throws ValueError for an unknown option */
  constructor(options: GroupMembers) {
    requireKnownOptions(options, groupMembers);
    const { members, canBlock = true } = options;
    this.size = members.reduce((sum, { localRanks }) => sum + localRanks.length, 0);
    this.members = members;
    this.canBlock = canBlock;
  }

  /** Runs one collective on all ranks. @throws the first error of a member */
  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: CallOptions = {},
  ): Promise<void> {
    requireKnownOptions(options, knownCallOptions);
    const outcomes = await this.execute([{ ...options, collective, inputs, outputs }]);
    const failed = outcomes.flat().find((outcome) => outcome !== undefined);
    if (failed) throw failed;
  }

  /**
   * Makes calls with the buffers of all ranks. Returns one list of outcomes per member, in the
   * order of the calls.
   */
  execute(calls: readonly Call[]): Promise<(readonly Outcome[])[]> {
    return this.executeEach((member) => calls.map((call) => partOf(call, member)));
  }

  /**
   * Lets all members make their own calls concurrently. Returns one list of outcomes per member, in
   * the order of its calls.
   */
  executeEach(callsOf: (member: GroupMember, index: number) => readonly Call[]): Promise<(readonly Outcome[])[]> {
    return Promise.all(this.members.map((member, index) => member.execute(callsOf(member, index))));
  }

  /** Closes all members. */
  async close(): Promise<void> {
    await Promise.all(this.members.map((member) => member.close()));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The part of a call that one member makes. */
export function partOf(call: Call, { localRanks }: Pick<GroupMember, 'localRanks'>): Call {
  const own = (tensors: readonly Tensor[]) => localRanks.map((rank) => tensors[rank] as Tensor);
  return { ...call, inputs: own(call.inputs), outputs: own(call.outputs) };
}
