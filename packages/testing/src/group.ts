import type { Collective, DType, Tensor } from '@coll/core';
import { knownOptions, requireKnownOptions } from '@coll/core/internal';
import type { SuiteAlgorithm } from './suite-algorithm.js';

/** How a collective is called; whatever is absent is left out of the call. */
export interface CallOptions {
  /** Which of the two methods. Default: `run`. */
  readonly mode?: 'run' | 'runSync';
  /** As in `RunOptions` of core. */
  readonly timeoutSeconds?: number | null;
  /** The outputs of all ranks may be one memory. */
  readonly sharedResult?: boolean;
  /** Hands in an `AbortSignal` that is aborted before the call, right after it in the same turn, or once the call waits. */
  readonly abort?: 'before' | 'at once' | 'later';
  /** Uses memory of the communicator's `allocate`, where there is one, in place of the tensors'. */
  readonly isAllocated?: boolean;
  /** Hands in each buffer as segments that begin at its start and at these elements, in ascending order. */
  readonly cuts?: readonly number[];
  /** Detaches the buffer of the first input or output before the call. */
  readonly detached?: 'input' | 'output';
  /** Bytes from the start of memory that all members share at which the input and the output of the call lie. */
  readonly sharedAt?: { readonly input: number; readonly output: number };
}

const knownCallOptions = knownOptions<CallOptions>('Group.run', {
  mode: true,
  timeoutSeconds: true,
  sharedResult: true,
  abort: true,
  isAllocated: true,
  cuts: true,
  detached: true,
  sharedAt: true,
});

/** A collective with the buffers of some ranks. */
export interface Call extends CallOptions {
  readonly collective: Collective;
  readonly inputs: readonly Tensor[];
  readonly outputs: readonly Tensor[];
}

/** What came of a call: nothing, or the error that it ended with. */
export type Outcome = Error | undefined;

/** A caller in a group: it hands in the buffers of its local ranks. */
export interface GroupMember {
  readonly localRanks: readonly number[];
  /** As that of its communicator. */
  refuses(collective: Collective, dtype: DType): Promise<string | undefined>;
  /** Makes the calls in order, the asynchronous ones without waiting for each other. Never rejects because a call did. */
  play(calls: readonly Call[]): Promise<readonly Outcome[]>;
  /** Closes its communicator. */
  close(): Promise<void>;
  /** Ends it without a word to the others, as a crash would; absent where nothing can be ended alone. */
  crash?(): Promise<void>;
  /** Gives away some of the memory that all members share, and tells where; absent where there is none. */
  reserve?(bytes: number): Promise<number>;
}

/** Opens a group of `size` ranks that plays an algorithm, or its own where none is given. */
export type OpenGroup = (algorithm: SuiteAlgorithm | undefined, size: number) => Group | Promise<Group>;

/** The members of a group, before it is one. */
export interface GroupMembers {
  readonly members: readonly GroupMember[];
  /** Whether members may block: each then has a thread of its own. Default: yes. */
  readonly canBlock?: boolean;
}

const groupMembers = knownOptions<GroupMembers>('Group', { members: true, canBlock: true });

/**
 * All members of a group, as the suites call them.
 *
 * @example
 * ```ts
 * import { tensor, wasmEngine } from '@coll/core';
 * import { controllerGroup, type Group } from '@coll/testing';
 *
 * const open = controllerGroup((algorithm, size) => wasmEngine.communicator(size, algorithm));
 * await using group: Group = await open(undefined, 2);
 * const buffers = [tensor(new Float32Array([1])), tensor(new Float32Array([2]))];
 * await group.run({ kind: 'all-reduce', op: 'max' }, buffers, buffers, { mode: 'runSync' });
 * console.log(group.size, buffers[0]?.data); // 2 Float32Array(1) [ 2 ]
 * ```
 */
export class Group implements AsyncDisposable {
  readonly size: number;
  readonly members: readonly GroupMember[];
  readonly canBlock: boolean;

  constructor(options: GroupMembers) {
    requireKnownOptions(options, groupMembers);
    const { members, canBlock = true } = options;
    this.size = members.reduce((sum, { localRanks }) => sum + localRanks.length, 0);
    this.members = members;
    this.canBlock = canBlock;
  }

  /** Runs one collective on all ranks at once. @throws the first error of a member */
  async run(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    options: CallOptions = {},
  ): Promise<void> {
    requireKnownOptions(options, knownCallOptions);
    const outcomes = await this.play([{ ...options, collective, inputs, outputs }]);
    const failed = outcomes.flat().find((outcome) => outcome !== undefined);
    if (failed) throw failed;
  }

  /** Makes calls that hold the buffers of all ranks. What came of them, by member, then by call. */
  play(calls: readonly Call[]): Promise<(readonly Outcome[])[]> {
    return this.playEach((member) => calls.map((call) => partOf(call, member)));
  }

  /** Every member makes its own calls, at the same time as the others. What came of them, by member, then by call. */
  playEach(callsOf: (member: GroupMember, index: number) => readonly Call[]): Promise<(readonly Outcome[])[]> {
    return Promise.all(this.members.map((member, index) => member.play(callsOf(member, index))));
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
