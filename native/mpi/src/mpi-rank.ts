import {
  type Algorithm,
  type CollError,
  type Communicator,
  type DType,
  type Group,
  type RunOptions,
  type SplitPart,
  type SubGroup,
  type Tensor,
  zeros,
} from '@coll/core';
import {
  type GroupLog,
  PointToPoint,
  type RecordedGroup,
  recordedGroup,
  recorder,
  requireCollError,
} from '@coll/core/internal';
import { CallOrder } from '@coll/core/plugin';
import { errorFor } from './failures.js';
import type { GroupHandle, MpiBinding } from './mpi-binding.js';
import { MpiPostbox } from './mpi-postbox.js';
import { MpiQueue } from './mpi-queue.js';
import type { ResolvedMpiOptions } from './options.js';

/** The addon, and what all groups made from one group have in common. */
export interface MpiRankSetup {
  readonly binding: MpiBinding;
  readonly options: ResolvedMpiOptions;
  /** Makes a communicator of the rank; closing it calls `leave`. */
  readonly communicator: (rank: MpiRank, leave?: () => Promise<void>) => Communicator;
}

/** What a group is called in the records of its ranks: equal on all of them. */
export interface GroupName {
  readonly id: string;
  /** The id of the group that was split. */
  readonly parent?: string;
}

/** Makes a group in the addon, which calls `wake` for events and ended calls. */
export type MakeGroup<Handle extends GroupHandle | undefined> = (wake: () => void) => Promise<Handle>;

/** One rank of a group of ranks of an MPI job: what all its communicators share. */
export class MpiRank implements Group {
  readonly order = new CallOrder();
  readonly recorded: RecordedGroup;
  readonly queue: MpiQueue;
  /** Logs the end of the group. Undefined for groups made by `split`. */
  log: GroupLog | undefined;
  readonly setup: MpiRankSetup;
  readonly #handle: GroupHandle;
  readonly #postbox: MpiPostbox;
  readonly #messages: PointToPoint;
  #splits = 0;

  private constructor(setup: MpiRankSetup, handle: GroupHandle, { id, parent }: GroupName) {
    const { binding, options } = setup;
    const [rank, size] = binding.place(handle);
    const { defaultMillis, checkCalls } = options;
    const place = { size, rank, wholeRank: parent ? undefined : rank, parent };
    this.recorded = recordedGroup({ id, kind: 'processes', engine: 'MPI', transport: 'mpi', ...place });
    this.setup = setup;
    this.#handle = handle;
    this.queue = new MpiQueue({ binding, group: handle, rank, size, defaultMillis, checkCalls });
    this.#postbox = new MpiPostbox(binding, handle, rank, () => this.#messages);
    this.#messages = new PointToPoint(rank, this.#postbox, this);
  }

  /** Makes the rank of this process; undefined if the addon makes no group. */
  static async open<Handle extends GroupHandle | undefined>(
    setup: MpiRankSetup,
    make: MakeGroup<Handle>,
    name: GroupName,
  ): Promise<MpiRank | Extract<Handle, undefined>> {
    let made: MpiRank | undefined;
    const handle = await make(() => made?.settle()).catch((error: unknown) => {
      throw errorFor(error, { operation: 'open' });
    });
    if (!handle) return undefined as Extract<Handle, undefined>;
    made = new MpiRank(setup, handle, name);
    open.add(made);
    recorder?.note({ kind: 'opened', text: `rank ${made.rank} of ${made.size}`, group: made.recorded });
    return made;
  }

  get rank(): number {
    return this.queue.rank;
  }

  get size(): number {
    return this.queue.size;
  }

  get failure(): CollError | undefined {
    return this.queue.failure();
  }

  fail(error: CollError): void {
    requireCollError(error);
    this.queue.failWith(error);
    this.#messages.endIfFailed();
  }

  /** MPI takes any memory. */
  allocate<D extends DType>(dtype: D, length: number): Tensor<D> {
    return zeros(dtype, [length]);
  }

  /** MPI chooses the algorithm itself, whichever is passed. */
  communicator(_algorithm?: Algorithm, leave?: () => Promise<void>): Communicator {
    return this.setup.communicator(this, leave);
  }

  async split(
    parts: readonly SplitPart[],
    _algorithm: Algorithm,
    _options: RunOptions,
  ): Promise<readonly (SubGroup | undefined)[]> {
    const { color, key } = parts[this.rank] as SplitPart;
    const parent = this.recorded.identity.id;
    const id = `${parent}/${this.#splits++}.${color}`;
    const make: MakeGroup<GroupHandle | undefined> = (wake) =>
      this.setup.binding.splitGroup(this.#handle, color, key, wake);
    const own = await MpiRank.open(this.setup, make, { id, parent });
    if (!own) return [undefined];
    return [{ communicator: own.communicator(), close: async () => own.close() }];
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

  /** Settles what the addon has ended or received. */
  settle(): void {
    if (this.queue.isClosed) return;
    this.queue.settle();
    this.#postbox.deliver();
  }

  /** Leaves the group. */
  close(): void {
    open.delete(this);
    this.log?.close({ order: this.order, failure: this.failure });
    recorder?.note({ kind: 'closed', text: '', group: this.recorded });
    // MPI has no connections whose other side must read to the end.
    void this.#messages.close();
    this.queue.close();
  }
}

/** The groups of this thread that are open. */
export const open = new Set<MpiRank>();
