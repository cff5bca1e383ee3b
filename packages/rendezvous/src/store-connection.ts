import type { TLSSocket } from 'node:tls';
import { CollError, ValueError } from '@coll/core';
import { release } from '@coll/core/internal';
import {
  type Answer,
  allKeys,
  decodeKeys,
  decodeRequest,
  encodeAnswer,
  encodeValues,
  FrameSplitter,
  frameVersion,
  type Op,
  type Request,
} from './frames.js';
import { mostValueBytes, requireAmount, requireKey, requireValue } from './store.js';
import type { Table } from './table.js';

// Limit of the answers that a client has not read yet. Above it, further answers are queued, and no
// further requests are read.
const mostUnreadBytes = 16 * mostValueBytes;
const mostWaits = 4096;
const mostReleaseBytes = 64;
const mostWhenLost = 16;

/** The job, table and limits of a connection. */
export interface StoreConnectionOptions {
  readonly socket: TLSSocket;
  readonly job: string;
  readonly table: Table;
  /** Seconds within which the client must send its hello. */
  readonly helloSeconds: number;
}

/** One client's connection to a store's server. An invalid frame ends only this connection. */
export class StoreConnection {
  readonly #socket: TLSSocket;
  readonly #job: string;
  readonly #table: Table;
  readonly #waits = new Map<number, () => void>();
  readonly #answers: Answer[] = [];
  /** What to set when this connection ends. */
  readonly #whenLost = new Map<string, Uint8Array>();
  readonly #tooLate: NodeJS.Timeout;
  #isMember = false;

  constructor({ socket, job, table, helloSeconds }: StoreConnectionOptions) {
    this.#socket = socket;
    this.#job = job;
    this.#table = table;
    this.#tooLate = setTimeout(() => socket.destroy(), helloSeconds * 1000);
    const splitter = new FrameSplitter();
    socket.setNoDelay();
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
    socket.on('drain', () => this.#send());
    socket.on('data', (part: Buffer) => {
      try {
        for (const frame of splitter.push(part)) this.#take(decodeRequest(frame));
      } catch {
        socket.destroy();
      }
    });
  }

  #take(request: Request): void {
    if (!this.#isMember) {
      this.#joinGroup(request);
      return;
    }
    try {
      this.#act(request);
    } catch (error) {
      if (!(error instanceof CollError)) throw error;
      this.#answer(request.id, refusal(error.code, error.message), true);
    }
  }

  #joinGroup(request: Request): void {
    clearTimeout(this.#tooLate);
    const { id } = request;
    const refused = refusalOf(request, this.#job);
    this.#isMember = refused === undefined;
    if (refused === undefined) this.#answer(id, Buffer.of());
    else this.#socket.end(encodeAnswer({ id, isRefused: true, value: refusal('ERR_COLL_STORE', refused) }));
  }

  #act({ id, op, key, value, expected }: Request): void {
    if (op === 'cancel') {
      this.#waits.get(id)?.();
      this.#waits.delete(id);
      return;
    }
    requireKey(key);
    requireValue(value);
    if (op === 'get') this.#wait(id, [key], ([found]) => found as Uint8Array);
    else if (op === 'getAll') this.#wait(id, requireKeys(decodeKeys(value)), encodeValues);
    else if (op === 'setWhenLost' || op === 'forget') this.#answer(id, this.#setWhenLost(op, key, value));
    else this.#answer(id, tableAnswer(this.#table, op, key, value, expected));
  }

  /** Answers once all keys have values. Waits for one key after the other, to keep one wait per request. */
  #wait(id: number, keys: readonly string[], encode: (found: readonly Uint8Array[]) => Uint8Array): void {
    if (this.#waits.size >= mostWaits)
      throw new ValueError('ERR_COLL_VALUE', `one member can make at most ${mostWaits} requests that wait at once`);
    const found: Uint8Array[] = [];
    const goOn = (): void => {
      for (let key = keys[found.length]; key !== undefined; key = keys[found.length]) {
        const value = this.#table.peek(key);
        if (value === undefined) {
          const stop = this.#table.whenThere(key, (late) => {
            found.push(late);
            goOn();
          });
          this.#waits.set(id, stop);
          return;
        }
        found.push(value);
      }
      this.#waits.delete(id);
      this.#answer(id, encode(found));
    };
    goOn();
  }

  #answer(id: number, value: Uint8Array, isRefused = false): void {
    this.#answers.push({ id, isRefused, value });
    this.#send();
  }

  /**
   * Sends answers until the client has left too many bytes unread. No requests are read while
   * answers remain to be sent.
   */
  #send(): void {
    while (this.#socket.writableLength < mostUnreadBytes) {
      const next = this.#answers.shift();
      if (!next) break;
      this.#socket.write(encodeAnswer(next));
    }
    if (this.#answers.length > 0) this.#socket.pause();
    else this.#socket.resume();
  }

  #setWhenLost(op: 'setWhenLost' | 'forget', key: string, value: Uint8Array): Uint8Array {
    if (op === 'forget' && key === allKeys) this.#whenLost.clear();
    else if (op === 'forget') this.#whenLost.delete(key);
    else if (this.#whenLost.size < mostWhenLost || this.#whenLost.has(key)) this.#whenLost.set(key, value);
    else
      throw new ValueError(
        'ERR_COLL_VALUE',
        `one member can leave at most ${mostWhenLost} values to be set when it is lost`,
      );
    return Buffer.of();
  }

  #end(): void {
    clearTimeout(this.#tooLate);
    for (const stop of this.#waits.values()) stop();
    for (const [key, value] of this.#whenLost) {
      try {
        this.#table.compareSet(key, undefined, value);
      } catch {
        // The table is full.
      }
    }
  }
}

function tableAnswer(
  table: Table,
  op: Op,
  key: string,
  value: Uint8Array,
  expected: Uint8Array | undefined,
): Uint8Array {
  switch (op) {
    case 'set':
      table.set(key, value);
      return Buffer.of();
    case 'add': {
      const amount = Number(Buffer.from(value).toString('latin1'));
      requireAmount(amount);
      return Buffer.from(String(table.add(key, amount)));
    }
    case 'compareSet':
      return flag(table.compareSet(key, expected, value));
    case 'delete':
      return flag(table.delete(key));
    default:
      throw new ValueError('ERR_COLL_VALUE', `the operation ${op} is not allowed after the handshake`);
  }
}

/** @throws ValueError unless there are keys, not too many, and each is valid */
function requireKeys(keys: readonly string[]): readonly string[] {
  for (const key of keys) requireKey(key);
  if (keys.length > 0 && keys.length <= mostWaits) return keys;
  throw new ValueError('ERR_COLL_VALUE', `one request waits for 1 to ${mostWaits} keys, got ${keys.length}`);
}

/** The reason to refuse the client that sent a hello; undefined to accept the client. */
function refusalOf({ op, key, value }: Request, job: string): string | undefined {
  if (op !== 'hello') return 'the first message of a connection must be the handshake';
  if (value[0] !== frameVersion)
    return `this store is of release ${release} (protocol version ${frameVersion}), the client is of ${releaseIn(value)} (version ${value[0]}): install the same release everywhere`;
  return key === job ? undefined : `this store belongs to job "${job}", not to "${key}"`;
}

/** The release in the hello of a client. Early releases sent none. */
function releaseIn(value: Uint8Array): string {
  const text = Buffer.from(value.subarray(1, 1 + mostReleaseBytes)).toString('latin1');
  return /^[\w.+-]+$/.test(text) ? `release ${text}` : 'another release';
}

function refusal(code: string, message: string): Buffer {
  return Buffer.from(`${code}\n${message}`);
}

function flag(is: boolean): Buffer {
  return Buffer.of(Number(is));
}
