import { groupOfRank } from '../members/split.js';
import { PointToPoint } from '../messages/point-to-point.js';
import type { MessageGroup } from '../messages/postbox.js';
import { type RecordedGroup, recordedGroup, recorder } from '../record/recorder-hook.js';
import type { Arena } from '../runtime/arena.js';
import { CallOrder } from '../runtime/call-order.js';
import type { Communicator, Group, RunOptions, SplitPart, SubGroup } from '../runtime/communicator.js';
import type { Engine, ThreadGroup } from '../runtime/engine.js';
import type { Algorithm } from '../schedule/schedule.js';
import type { CollError } from '../support/errors.js';
import type { DType } from '../values/dtype.js';
import type { Tensor } from '../values/tensor.js';
import type { SharedBarrier } from './shared-barrier.js';
import { ThreadPostbox } from './thread-postbox.js';
import { shareGroup } from './thread-split.js';
import { beWatched } from './thread-watch.js';

/** Makes and joins groups of threads. */
export type ThreadEngine = Pick<Engine, 'createGroup' | 'join'>;

/** Parts that make up one rank of a group of threads. */
export interface ThreadRankOptions {
  readonly rank: number;
  readonly threads: ThreadGroup;
  /** The engine that makes the groups that this group is split into. */
  readonly engine: ThreadEngine;
  readonly barrier: SharedBarrier;
  readonly arena: Arena;
  readonly communicator: (algorithm: Algorithm, group: ThreadRank) => Communicator;
}

/** A group of threads as seen by one rank. Its memory is the shared arena. */
export class ThreadRank implements Group {
  readonly order = new CallOrder();
  readonly recorded: RecordedGroup;
  readonly #options: ThreadRankOptions;
  readonly #stopBeingWatched: () => void;
  #messages: PointToPoint | undefined;
  #splits = 0;
  #isClosed = false;

  constructor(options: ThreadRankOptions) {
    this.#options = options;
    const { threads, rank, barrier } = options;
    const { id, engine, size, whole, parent } = threads;
    const place = { size, rank, wholeRank: whole?.[rank], parent };
    this.recorded = recordedGroup({ id, kind: 'threads', engine, transport: 'memory', ...place });
    recorder?.note({ kind: 'opened', text: `rank ${rank} of ${size}`, group: this.recorded });
    this.#stopBeingWatched = beWatched(threads, rank, barrier);
  }

  get failure(): CollError | undefined {
    return this.#options.barrier.failure('group');
  }

  fail(error: CollError): void {
    const { barrier, rank } = this.#options;
    barrier.failWith(error, rank);
  }

  allocate<D extends DType>(dtype: D, length: number): Tensor<D> {
    return this.#options.arena.allocate(dtype, length);
  }

  communicator(algorithm: Algorithm): Communicator {
    return this.#options.communicator(algorithm, this);
  }

  async split(
    parts: readonly SplitPart[],
    algorithm: Algorithm,
    options: RunOptions,
  ): Promise<readonly (SubGroup | undefined)[]> {
    const { rank, threads, engine } = this.#options;
    const number = this.#splits++;
    const ranks = groupOfRank(parts, rank);
    if (!ranks) return [undefined];
    const name = `${threads.id}/split ${number} color ${parts[rank]?.color}`;
    const whole = ranks.map((other) => threads.whole?.[other] ?? other);
    const parent = threads.id;
    const make = () => ({ ...engine.createGroup({ size: ranks.length, spins: threads.spins }), whole, parent });
    const shared = await shareGroup({ name, ranks, rank, make, group: this, options });
    const communicator = engine.join(shared, { rank: ranks.indexOf(rank), algorithm });
    return [{ communicator, close: () => communicator.close() }];
  }

  send(_rank: number, to: number, value: Tensor, options?: RunOptions): Promise<void> {
    return this.#openMessages().send(to, value, options);
  }

  receive(_rank: number, from: number, into: Tensor, options?: RunOptions): Promise<void> {
    return this.#openMessages().receive(from, into, options);
  }

  refuseMessage(_rank: number, call: 'send' | 'receive', peer: number, error: unknown): void {
    this.#openMessages().refuse(call, peer, error);
  }

  /** Ends all sends and receives that are under way, and later ones. Called when the rank leaves the group. */
  close(): void {
    this.#isClosed = true;
    recorder?.note({ kind: 'closed', text: '', group: this.recorded });
    this.#stopBeingWatched();
    void this.#messages?.close();
  }

  #openMessages(): PointToPoint {
    if (this.#messages) return this.#messages;
    const { threads, rank, barrier } = this.#options;
    const postbox = new ThreadPostbox(threads.id, rank, (post) => this.#messages?.deliver(post));
    const group: MessageGroup = {
      recorded: this.recorded,
      get failure() {
        return barrier.failureOfMessages('group');
      },
      fail: (error) => this.fail(error),
      hasLeft: (peer) => barrier.hasLeft(peer),
    };
    this.#messages = new PointToPoint(rank, postbox, group);
    if (this.#isClosed) void this.#messages.close();
    return this.#messages;
  }
}
