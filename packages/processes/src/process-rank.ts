import { constants } from 'node:buffer';
import {
  type Algorithm,
  CollError,
  type Communicator,
  type DType,
  type Group,
  type RunOptions,
  type SplitPart,
  type SubGroup,
  type Tensor,
  ValueError,
  zeros,
} from '@coll/core';
import {
  isDType,
  PointToPoint,
  quote,
  type RecordedGroup,
  refusedMessages,
  requireCollError,
} from '@coll/core/internal';
import { byteSize, CallOrder, closedError, viewOf } from '@coll/core/plugin';
import type { NativeBinding } from '@coll/native/addon';
import type { MemoryHandle, ProcessBinding } from './process-binding.js';
import type { NativeProcessGroup } from './process-group.js';
import { type MessageMesh, ProcessPostbox } from './process-postbox.js';

/** State shared by all communicators of one member of a group of processes. */
export class ProcessRank implements Group {
  readonly order = new CallOrder();
  readonly recorded: RecordedGroup;
  readonly binding: NativeBinding & { readonly processes: ProcessBinding };
  readonly group: NativeProcessGroup;
  /** Memory that all members share; undefined if members exchange messages. */
  readonly memory: MemoryHandle | undefined;
  readonly #make: (rank: ProcessRank, algorithm: Algorithm) => Communicator;
  readonly #messages: PointToPoint;
  readonly #postbox: ProcessPostbox;
  readonly #mesh: MessageMesh;
  readonly #split: ProcessRankOptions['split'];

  constructor({ binding, group, memory, mesh, recorded, communicator, split }: ProcessRankOptions) {
    this.binding = binding;
    this.#postbox = new ProcessPostbox(mesh, () => this.#messages, this);
    this.#messages = new PointToPoint(group.rank, this.#postbox, this, group.stalls);
    this.#mesh = mesh;
    this.recorded = recorded;
    this.#split = split;
    this.group = group;
    this.memory = memory;
    this.#make = communicator;
    // Messages need a socket made from a descriptor, and sub-groups a TCP store. Bun has neither.
    if ('bun' in process.versions) Object.assign(this, refusedMessages('a group of processes in Bun'));
  }

  get failure(): CollError | undefined {
    return this.group.failure();
  }

  /** The ranks that have left the group. */
  get leavers(): readonly number[] {
    return this.group.leavers;
  }

  /** The descriptors of the connections for messages. */
  get messageSockets(): readonly number[] {
    return this.#postbox.descriptors;
  }

  enclose(ranks: number): void {
    this.group.enclose(ranks);
  }

  fail(error: CollError): void {
    requireCollError(error);
    this.group.failWith(error);
  }

  allocate<D extends DType>(dtype: D, length: number): Tensor<D> {
    if (this.group.isClosed) throw closedError({ operation: 'allocate', rank: this.group.rank });
    if (!this.memory) return zeros(dtype, [length]);
    return allocated(this.binding.processes, this.memory, dtype, length);
  }

  communicator(algorithm: Algorithm): Communicator {
    return this.#make(this, algorithm);
  }

  split(
    parts: readonly SplitPart[],
    algorithm: Algorithm,
    options: RunOptions,
  ): Promise<readonly (SubGroup | undefined)[]> {
    return this.#split(this, parts, algorithm, options);
  }

  send(_rank: number, to: number, value: Tensor, options?: RunOptions): Promise<void> {
    return this.#messages.send(to, value, options);
  }

  receive(_rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void> {
    return this.#messages.receive(from, into, options);
  }

  refuseMessage(_rank: number, call: 'send' | 'receive', peer: number, error: unknown): void {
    this.#messages.refuse(call, peer, error);
  }

  /** The address at which other members reach `rank`. */
  hostOf(rank: number): string {
    return this.#mesh.peers[rank]?.addresses[0]?.host as string;
  }

  /**
   * Ends pending messages, and closes their connections once the other members have read what was
   * sent to them, or after some seconds.
   */
  close(): Promise<void> {
    return this.#messages.close();
  }
}

export interface ProcessRankOptions extends Pick<ProcessRank, 'binding' | 'group' | 'memory' | 'recorded'> {
  readonly mesh: MessageMesh;
  readonly communicator: (rank: ProcessRank, algorithm: Algorithm) => Communicator;
  readonly split: (
    rank: ProcessRank,
    parts: readonly SplitPart[],
    algorithm: Algorithm,
    options: RunOptions,
  ) => Promise<readonly (SubGroup | undefined)[]>;
}

function allocated<D extends DType>(
  binding: ProcessBinding,
  memory: MemoryHandle,
  dtype: D,
  length: number,
): Tensor<D> {
  if (!isDType(dtype) || !(Number.isSafeInteger(length) && length >= 0)) {
    const text = `${quote(length)} elements of ${quote(dtype)}`;
    throw new ValueError('ERR_COLL_VALUE', `allocate takes a dtype and a whole number of elements, got ${text}`);
  }
  const bytes = length * byteSize(dtype);
  // A limit of Node.js, which Node.js itself does not check here.
  if (bytes > constants.MAX_LENGTH) {
    const message = `a tensor must have at most ${constants.MAX_LENGTH} bytes, the longest buffer of Node, got ${bytes}`;
    throw new CollError('ERR_COLL_BUFFER', `${message}; split it into several tensors`);
  }
  try {
    // Empty memory has no place in the segment.
    const buffer = bytes === 0 ? new ArrayBuffer(0) : binding.allocate(memory, bytes);
    return { data: viewOf(dtype, buffer, 0, length), dtype, shape: [length], device: '' };
  } catch (cause) {
    const message = `cannot allocate ${bytes} more bytes of shared memory: ${(cause as Error).message}`;
    throw new CollError('ERR_COLL_BUFFER', `${message}; open the group with a larger maxBytes, or keep fewer tensors`, {
      cause,
    });
  }
}
