import {
  AbortedError,
  CollError,
  type Collective,
  type Communicator,
  DeadlineExceededError,
  type DType,
  type Group,
  InternalError,
  type Link,
  type ProcessGroup,
  type RunOptions,
  RuntimeError,
  type Segments,
  type Tensor,
  zeros,
} from '@coll/core';
import { LocalMembers, Member, ReferenceCommunicator, refusedMessages } from '@coll/core/internal';
import { CallOrder, JoiningCommunicator, nameOf } from '@coll/core/plugin';
import type { Algorithm } from '@coll/core/schedule';
import { directAlgorithm } from '@coll/direct';
import { Meeting } from './meeting.js';

/** What a double does otherwise than usual. */
export interface DoubleOptions {
  /** Default: all on shared memory. */
  readonly transport?: Link['transport'];
  /** Told of every collective that was carried out. */
  readonly executed?: (collective: Collective, algorithm: string, length: number) => void;
}

/** Doubles of the members of a group of processes: all of them in this thread, which meet as promises. None of them can block. */
export function processGroupDoubles(size: number, options: DoubleOptions = {}): ProcessGroup[] {
  const room = new Room(size, options);
  return Array.from({ length: size }, (_, rank) => new ProcessGroupDouble(room, rank, options.transport));
}

interface Call {
  readonly collective: Collective;
  readonly algorithm: Algorithm;
  readonly input: Tensor;
  readonly output: Tensor;
  readonly layout: number;
}

/** Where all members meet, for all of their communicators. */
class Room {
  readonly size: number;
  readonly meeting: Meeting<Call, undefined>;
  failure: CollError | undefined;
  readonly #executed: DoubleOptions['executed'];

  constructor(size: number, { executed }: DoubleOptions) {
    this.size = size;
    this.#executed = executed;
    this.meeting = new Meeting(size, (calls) => this.#execute(calls));
  }

  fail(error: CollError): void {
    this.failure ??= error;
    this.meeting.fail(this.failure);
  }

  async #execute(calls: readonly Call[]): Promise<readonly undefined[]> {
    if (this.failure) throw this.failure;
    const [{ collective, algorithm, input, output }] = calls as readonly [Call];
    const odd = calls.findIndex((call) => descriptorOf(call) !== descriptorOf(calls[0] as Call));
    if (odd >= 0) {
      const texts = [0, odd].map((rank) => `rank ${rank} brings ${descriptorOf(calls[rank] as Call)}`).join(', ');
      this.fail(new InternalError('ERR_COLL_MISMATCH', texts, { rank: odd, operation: nameOf(collective) }));
      throw this.failure;
    }
    const communicator = new ReferenceCommunicator({ size: this.size, algorithm });
    communicator.runSync(
      collective,
      calls.map((call) => call.input),
      calls.map((call) => call.output),
    );
    this.#executed?.(collective, algorithm.name, Math.max(input.data.length, output.data.length));
    return calls.map(() => undefined);
  }
}

function descriptorOf({ collective, algorithm, input, output, layout }: Call): string {
  const { data, dtype } = collective.kind === 'broadcast' ? output : input;
  return `${nameOf(collective)} of ${data.length} ${dtype} by ${algorithm.name}, layout ${layout}`;
}

class ProcessGroupDouble extends Member implements ProcessGroup {
  readonly generation = 0;
  readonly hosts: readonly string[];
  readonly links: readonly Link[];
  readonly #room: Room;
  readonly #own: Group;
  #isClosed = false;

  constructor(room: Room, rank: number, transport: Link['transport'] = 'shared-memory') {
    const own: Group = {
      order: new CallOrder(),
      get failure() {
        return room.failure;
      },
      fail: (error) => room.fail(error),
      allocate: (dtype, length) => zeros(dtype, [length]),
      communicator: (algorithm) => new MemberDouble(room, rank, algorithm, own),
      ...refusedMessages('a double'),
    };
    const algorithm = directAlgorithm();
    const local = new LocalMembers({ localRanks: [rank], communicator: () => own.communicator(algorithm) });
    super({ rank, size: room.size, algorithm, local });
    this.hosts = Array.from({ length: room.size }, () => 'here');
    const others = this.hosts.map((_, other) => other).filter((other) => other !== rank);
    this.links = others.map((other) => ({ rank: other, transport, reason: 'it is a double' }));
    this.#room = room;
    this.#own = own;
  }

  communicator(algorithm: Algorithm): Communicator {
    if (this.#isClosed) throw new RuntimeError('ERR_COLL_CLOSED', 'the group is closed');
    return new MemberDouble(this.#room, this.rank, algorithm, this.#own);
  }

  fail(error: Error): void {
    this.#room.fail(error instanceof CollError ? error : new CollError('ERR_COLL_PEER_FAILED', error.message));
  }

  override async close(): Promise<void> {
    this.#isClosed = true;
    this.#room.fail(new RuntimeError('ERR_COLL_CLOSED', `rank ${this.rank} has left the group`));
  }
}

class MemberDouble extends JoiningCommunicator {
  readonly size: number;
  readonly localRanks: readonly number[];
  readonly group: Group;
  readonly #room: Room;
  readonly #algorithm: Algorithm;
  readonly #whole: ReferenceCommunicator;

  constructor(room: Room, rank: number, algorithm: Algorithm, group: Group) {
    super();
    this.size = room.size;
    this.localRanks = [rank];
    this.group = group;
    this.#room = room;
    this.#algorithm = algorithm;
    this.#whole = new ReferenceCommunicator({ size: room.size, algorithm });
  }

  refuses(collective: Collective, dtype: DType): string | undefined {
    return this.#whole.refuses(collective, dtype);
  }

  /** Calls wait for turns that were taken before them, as those of real members do. */
  override run(
    collective: Collective,
    inputs: readonly Segments[],
    outputs: readonly Segments[],
    options?: RunOptions,
  ): Promise<void> {
    const { order } = this.group;
    const run = () => super.run(collective, inputs, outputs, options);
    return order.isHeld && !options?.turn ? order.start(run) : run();
  }

  protected async runWhole(
    collective: Collective,
    inputs: readonly Tensor[],
    outputs: readonly Tensor[],
    { layout = 0, timeoutSeconds, signal }: RunOptions = {},
  ): Promise<void> {
    const [rank] = this.localRanks as readonly [number];
    const [input, output] = [inputs[0], outputs[0]] as [Tensor, Tensor];
    const details = { rank, operation: nameOf(collective) };
    const refused = this.refuses(collective, input.dtype);
    if (refused) throw new RuntimeError('ERR_COLL_REFUSED', refused, details);
    if (this.#room.failure) throw this.#room.failure;
    const giveUp = () => {
      const missing = this.#room.meeting.missing().join(', ');
      this.#room.fail(new DeadlineExceededError('ERR_COLL_DEADLINE', `rank ${missing} did not arrive`, details));
    };
    const abort = () => this.#room.fail(new AbortedError('ERR_COLL_ABORTED', 'aborted', details));
    const timer = timeoutSeconds && timeoutSeconds > 0 ? setTimeout(giveUp, timeoutSeconds * 1000) : undefined;
    signal?.addEventListener('abort', abort);
    // Who only hands out has an input that nobody reads, and must not be read in place of others.
    const isRead = collective.kind !== 'broadcast' || collective.root === rank;
    const own = isRead ? input : zeros(output.dtype, [output.data.length]);
    const into =
      collective.kind === 'reduce' && collective.root !== rank ? zeros(input.dtype, [input.data.length]) : output;
    try {
      await this.#room.meeting.join(rank, {
        collective,
        algorithm: this.#algorithm,
        input: own,
        output: into,
        layout,
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    }
  }

  protected runWholeSync(): never {
    throw new RuntimeError('ERR_COLL_CONTEXT', 'doubles share a thread: use run');
  }

  fail(error: CollError): void {
    this.#room.fail(error);
  }

  failure(): CollError | undefined {
    return this.#room.failure;
  }

  async close(): Promise<void> {}
}
