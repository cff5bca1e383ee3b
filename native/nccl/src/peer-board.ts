import { setTimeout } from 'node:timers/promises';
import {
  AbortedError,
  CollError,
  DeadlineExceededError,
  type ErrorCode,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
} from '@coll/core';
import type { Store, WaitOptions } from '@coll/rendezvous';
import type { Asked, Request } from './agreement.js';
import { type HostProcess, hasEnded } from './host-process.js';

const mostSecondsForStates = 1;
const mostLooksForLost = 10;
const millisBetweenLooks = 20;

/** The state that error messages report for a process that does not answer. */
export const unheard = 'status unknown';

/**
 * Numbers of calls in which a process took part. `started` counts NCCL's group calls and splits;
 * `asked` counts the calls whose requests were compared.
 */
export interface Taken {
  readonly started: number;
  readonly asked: number;
}

/** Functions to call when another process reports a failure or leaves. */
export interface Listeners {
  /** Called when another process has failed, with an error of the same class. */
  failed(error: CollError): void;
  /** Called once: when the first process has left. That process takes part in no later call. */
  left(rank: number, taken: Taken): void;
}

/** A process of the group. */
export interface Peer {
  /** The ranks of this process. */
  readonly ranks: readonly number[];
  /** Identifies the process on its host; undefined if the system does not report it. */
  readonly process?: HostProcess | undefined;
}

/** The record that the first process to fail or leave writes to the store. */
interface End {
  readonly member: number;
  readonly rank: number;
  readonly taken?: Taken;
  readonly failure?: {
    readonly kind: string;
    readonly code: ErrorCode;
    readonly message: string;
    /** The lost rank; undefined if it is not known which rank is lost. */
    readonly rank?: number | undefined;
    /** All ranks that are known to be lost. */
    readonly ranks?: readonly number[] | undefined;
  };
}

/**
 * Exchanges failures, departures and heartbeats of a group through a store; also the requests of
 * calls, if these are compared.
 */
export class PeerBoard {
  readonly #store: Store;
  readonly #prefix: string;
  readonly #member: number;
  readonly #peers: readonly Peer[];

  constructor(store: Store, prefix: string, member: number, peers: readonly Peer[]) {
    this.#store = store;
    this.#prefix = prefix;
    this.#member = member;
    this.#peers = peers;
  }

  /** The other processes, each with its index and first rank. */
  get others(): readonly {
    readonly member: number;
    readonly rank: number;
    readonly process?: HostProcess | undefined;
  }[] {
    const all = this.#peers.map((peer, member) => ({ member, rank: peer.ranks[0] as number, process: peer.process }));
    return all.filter(({ member }) => member !== this.#member);
  }

  get #ownRank(): number {
    return this.#peers[this.#member]?.ranks[0] as number;
  }

  /**
   * Calls `failed` once when another process has failed, and `left` once when the first process has
   * left. Returns a function that stops watching.
   */
  watch({ failed, left }: Listeners): () => void {
    const ending = new AbortController();
    const look = async (key: string, tell: (end: End) => void) => {
      const end = (await this.#read(key, { signal: ending.signal })) as End;
      if (!ending.signal.aborted && end.member !== this.#member) tell(end);
    };
    const looks = [
      look('failed', ({ failure }) => failure && failed(rebuilt(failure))),
      look('left', ({ rank, taken }) => taken && left(rank, taken)),
    ];
    // If the store is gone, only timeouts detect lost processes.
    for (const watched of looks) watched.catch(() => undefined);
    return () => ending.abort();
  }

  /**
   * Reports a failure to the other processes. Returns the state of each other process, keyed by the
   * first rank of the process; `unheard` for a process that does not answer.
   */
  async tell(error: CollError, state: string): Promise<ReadonlyMap<number, string>> {
    try {
      await this.#write(`state/${this.#member}`, state);
      const { code, message, ranks } = error;
      const kind = error.constructor.name;
      const rank = error.rank ?? (code === 'ERR_COLL_PEER_FAILED' ? undefined : this.#ownRank);
      await this.#first('failed', { failure: { kind, code, message, rank, ranks } });
      const states = await Promise.all(this.others.map((other) => this.#stateOf(other)));
      return new Map(this.others.map(({ rank: other }, index) => [other, states[index] as string]));
    } catch {
      return new Map();
    }
  }

  /**
   * The first rank of a process on this host that has exited. Polls for a moment, because
   * connections close before their process exits.
   */
  async lostRank(): Promise<number | undefined> {
    const known = this.others.filter(({ process }) => process);
    for (let look = 0; look < mostLooksForLost && known.length > 0; look++) {
      const ended = known.find(({ process }) => process && hasEnded(process));
      if (ended) return ended.rank;
      await setTimeout(millisBetweenLooks);
    }
    return undefined;
  }

  /** Reports what this process was doing when another one failed. */
  async answer(state: string): Promise<void> {
    await this.#write(`state/${this.#member}`, state).catch(() => undefined);
  }

  /**
   * Notifies the other processes that this process leaves, so that they do not wait for this
   * process in later calls.
   */
  async leave(state: string, taken: Taken): Promise<void> {
    try {
      await this.#write(`state/${this.#member}`, `gone, ${state}`);
      await this.#first('left', { taken });
    } catch {
      // The store may be gone when the last process leaves.
    }
  }

  /**
   * Publishes this process's request for a call, and returns the requests of all processes.
   * @throws DeadlineExceededError that names the ranks that did not arrive
   */
  async ask(number: number, request: Request, waiting: WaitOptions): Promise<readonly Asked[]> {
    const keyOf = (member: number) => `call/${number}/${member}`;
    await this.#write(keyOf(this.#member), request);
    const asked = await Promise.allSettled(this.#peers.map((_, member) => this.#read(keyOf(member), waiting)));
    const failed = asked.filter((each) => each.status === 'rejected');
    const other = failed.find(({ reason }) => !(reason instanceof DeadlineExceededError));
    if (other) throw other.reason;
    if (failed.length > 0) {
      const missing = this.#peers
        .filter((_, member) => asked[member]?.status === 'rejected')
        .flatMap(({ ranks }) => ranks)
        .join(', ');
      const { operation } = request;
      const message = `${operation} (call ${number}): timed out waiting for other ranks: rank ${missing} did not arrive`;
      throw new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation });
    }
    // All processes have published this request, so they have read those of the previous call.
    if (number > 1) await this.#store.delete(`${this.#prefix}/call/${number - 1}/${this.#member}`);
    return asked.map((each, member) => {
      return {
        rank: this.#peers[member]?.ranks[0] as number,
        request: (each as PromiseFulfilledResult<Request>).value,
      };
    });
  }

  /** Writes a heartbeat of this process. */
  async beat(count: number): Promise<void> {
    await this.#write(`beat/${this.#member}`, count);
  }

  /** The heartbeat counts of the other processes; -1 for a process without one. */
  async beats(): Promise<readonly number[]> {
    const waiting = { timeoutSeconds: mostSecondsForStates };
    const read = this.others.map(({ member }) => this.#read(`beat/${member}`, waiting).catch(() => -1));
    return (await Promise.all(read)) as number[];
  }

  async #stateOf({
    member,
    process,
  }: {
    readonly member: number;
    readonly process?: HostProcess | undefined;
  }): Promise<string> {
    if (process && hasEnded(process)) return unheard;
    const read = this.#read(`state/${member}`, { timeoutSeconds: mostSecondsForStates });
    return read.catch(() => unheard) as Promise<string>;
  }

  async #read(key: string, waiting: WaitOptions): Promise<unknown> {
    return JSON.parse(new TextDecoder().decode(await this.#store.get(`${this.#prefix}/${key}`, waiting)));
  }

  async #write(key: string, value: unknown): Promise<void> {
    await this.#store.set(`${this.#prefix}/${key}`, encode(value));
  }

  async #first(key: 'failed' | 'left', end: Omit<End, 'member' | 'rank'>): Promise<void> {
    const written: End = { member: this.#member, rank: this.#ownRank, ...end };
    await this.#store.compareSet(`${this.#prefix}/${key}`, undefined, encode(written));
  }
}

const kinds = {
  AbortedError,
  CollError,
  DeadlineExceededError,
  InternalError,
  InvalidArgumentError,
  RuntimeError,
  UnavailableError,
};

function rebuilt({ kind, code, message, rank, ranks }: NonNullable<End['failure']>): CollError {
  const Kind = kinds[kind as keyof typeof kinds] ?? CollError;
  return new Kind(code, message, rank === undefined ? {} : { rank, ranks });
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
