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

/** What a process was doing that does not answer. */
export const unheard = 'status unknown';

/** In what a process took part: group calls of NCCL's and splits, and calls that were compared. */
export interface Taken {
  readonly started: number;
  readonly asked: number;
}

/** Who listens to what the other processes write. */
export interface Listeners {
  /** One has failed: the error is of the class that it had there. */
  failed(error: CollError): void;
  /** The first has left, and takes part in nothing more. */
  left(rank: number, taken: Taken): void;
}

/** A process of the group. */
export interface Peer {
  /** Its ranks. */
  readonly ranks: readonly number[];
  /** Absent where its system does not tell. */
  readonly process?: HostProcess | undefined;
}

/** What the first process wrote that failed, or left. */
interface End {
  readonly member: number;
  readonly rank: number;
  readonly taken?: Taken;
  readonly failure?: {
    readonly kind: string;
    readonly code: ErrorCode;
    readonly message: string;
    /** Absent where nobody knows who is lost. */
    readonly rank?: number | undefined;
  };
}

/** Where the processes of a group write down what the others have to know: how it ended, and, where calls are compared, what they ask for. */
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

  /** The processes but this one, by number and first rank. */
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

  /** Calls back, once each, when another process has failed, and when the first one leaves. Returns what ends the watching. */
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
    // A store that is gone tells nothing any more; timeouts still do.
    for (const watched of looks) watched.catch(() => undefined);
    return () => ending.abort();
  }

  /** Tells the others of a failure, and asks what they were doing: by their first rank, those that do not answer too. */
  async tell(error: CollError, state: string): Promise<ReadonlyMap<number, string>> {
    try {
      await this.#write(`state/${this.#member}`, state);
      const { code, message } = error;
      const kind = error.constructor.name;
      const rank = error.rank ?? (code === 'ERR_COLL_PEER_FAILED' ? undefined : this.#ownRank);
      await this.#first('failed', { failure: { kind, code, message, rank } });
      const states = await Promise.all(this.others.map((other) => this.#stateOf(other)));
      return new Map(this.others.map(({ rank: other }, index) => [other, states[index] as string]));
    } catch {
      return new Map();
    }
  }

  /** The first rank of a process of this host that has ended; its connections end a moment before it does. */
  async lostRank(): Promise<number | undefined> {
    const known = this.others.filter(({ process }) => process);
    for (let look = 0; look < mostLooksForLost && known.length > 0; look++) {
      const ended = known.find(({ process }) => process && hasEnded(process));
      if (ended) return ended.rank;
      await setTimeout(millisBetweenLooks);
    }
    return undefined;
  }

  /** Says what this process was doing when another one failed. */
  async answer(state: string): Promise<void> {
    await this.#write(`state/${this.#member}`, state).catch(() => undefined);
  }

  /** Tells the others that this process leaves: nobody has to wait for it in anything more. */
  async leave(state: string, taken: Taken): Promise<void> {
    try {
      await this.#write(`state/${this.#member}`, `gone, ${state}`);
      await this.#first('left', { taken });
    } catch {
      // Whoever leaves last may find the store gone.
    }
  }

  /** What every process asks for in a call of this number. @throws DeadlineExceededError that names the ranks that did not arrive */
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
      const told = `${operation}, number ${number}: timed out waiting for other ranks: rank ${missing} did not arrive`;
      throw new DeadlineExceededError('ERR_COLL_DEADLINE', told, { operation });
    }
    // Who asks for this call has read all of the one before.
    if (number > 1) await this.#store.delete(`${this.#prefix}/call/${number - 1}/${this.#member}`);
    return asked.map((each, member) => {
      return {
        rank: this.#peers[member]?.ranks[0] as number,
        request: (each as PromiseFulfilledResult<Request>).value,
      };
    });
  }

  /** Writes that this process is alive. */
  async beat(count: number): Promise<void> {
    await this.#write(`beat/${this.#member}`, count);
  }

  /** How often each of the other processes has written that it is alive. */
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

function rebuilt({ kind, code, message, rank }: NonNullable<End['failure']>): CollError {
  const Kind = kinds[kind as keyof typeof kinds] ?? CollError;
  return new Kind(code, message, rank === undefined ? {} : { rank });
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}
