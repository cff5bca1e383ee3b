import { setTimeout as pause } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { AbortedError, CollError, DeadlineExceededError, UnavailableError, ValueError } from '@coll/core';
import { afterSeconds, knownOptions, optionsOf, quote, release } from '@coll/core/internal';
import { CheckedStore } from './checked-store.js';
import {
  type Answer,
  allKeys,
  decodeAnswer,
  decodeValues,
  encodeKeys,
  encodeRequest,
  FrameSplitter,
  frameVersion,
  type Op,
} from './frames.js';
import { requireJob, requireJobKey } from './job-key.js';
import { connectSecurely, requirePreSharedKeys } from './secure-connection.js';
import { requireKey, requireValue, requireWaitFields, type WaitOptions } from './store.js';
import { UnreachableHost } from './unreachable-host.js';

/** The server, and how long to wait for it. */
export interface TcpStoreOptions extends WaitOptions {
  /** Address of the server, such as `tcp://127.0.0.1:40123`. */
  readonly address: string;
  /** The name of the job, which must be the same as on the server. */
  readonly job: string;
  /** The secret shared by all members of the job, as `coll key` makes it. */
  readonly jobKey: string;
  /**
   * Seconds to wait for the server before `DeadlineExceededError`. Null and ≤ 0 mean no limit.
   * Default: 60.
   */
  readonly timeoutSeconds?: number | null | undefined;
}

const tcpStoreOptions = knownOptions<TcpStoreOptions>('TcpStore', {
  address: true,
  job: true,
  jobKey: true,
  timeoutSeconds: true,
  signal: true,
});

interface Pending {
  readonly operation: string;
  readonly resolve: (value: Uint8Array) => void;
  readonly reject: (error: CollError) => void;
}

const retryMillis = 100;
const longestGoodbyeSeconds = 1;
// Timeout of requests that the server answers at once.
const longestAnswerSeconds = 10;
/** The names of operations in error messages that differ from the names in the protocol. */
const operations: Partial<Record<Op, string>> = {
  hello: 'connect',
  compareSet: 'compare-set',
  getAll: 'get',
  setWhenLost: 'set',
  forget: 'set',
};
const nothing = new Uint8Array();

/**
 * A store hosted by a `TcpStoreServer`.
 *
 * @example
 * ```ts
 * import { TcpStore, TcpStoreServer } from '@coll/rendezvous';
 *
 * const job = { job: 'train', jobKey: TcpStoreServer.newKey() };
 * await using server = await TcpStoreServer.listen(job);
 * await using store = await TcpStore.connect({ ...job, address: server.address });
 * await store.set('address', new Uint8Array([127, 0, 0, 1]));
 * console.log(await store.get('address')); // Uint8Array(4) [ 127, 0, 0, 1 ]
 * ```
 */
export class TcpStore extends CheckedStore {
  readonly address: string;
  readonly #socket: TLSSocket;
  readonly #localAddress: string;
  readonly #pending = new Map<number, Pending>();
  #nextId = 0;
  /**
   * Makes the error for requests after the connection was lost; undefined while the connection is
   * open.
   */
  #lost: ((operation: string) => CollError) | undefined;

  private constructor(address: string, socket: TLSSocket) {
    super();
    this.address = address;
    this.#socket = socket;
    // An IPv4 address may be written as an IPv6 address.
    this.#localAddress = (socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/, '');
    const splitter = new FrameSplitter();
    socket.setNoDelay();
    socket.on('data', (part: Buffer) => {
      try {
        for (const frame of splitter.push(part)) this.#settle(decodeAnswer(frame));
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (cause) => this.#lose(cause));
    socket.on('close', () => this.#lose());
  }

  /**
   * Connects to the server, retrying for up to `timeoutSeconds` (default: 60) while no server
   * listens at the address.
   * @throws ValueError for an invalid address, job, key, timeout or signal; CollError if the server
   * has a different key, or refuses this job or version, or if its host has been unknown or without a
   * route for 15 seconds; CollError in Bun and Deno, which lack TLS with a pre-shared key;
   * DeadlineExceededError after `timeoutSeconds`; AbortedError if `signal` aborts
   */
  static async connect(options: TcpStoreOptions): Promise<TcpStore> {
    const given = optionsOf(
      options,
      "{ address: 'tcp://127.0.0.1:8888', job, jobKey }",
      tcpStoreOptions,
    ) as TcpStoreOptions;
    requireWaitFields(given);
    const { address, job, jobKey, timeoutSeconds = 60, signal } = given;
    const target = targetOf(address);
    requireJob(job);
    requireJobKey(jobKey);
    requirePreSharedKeys('connect');
    const isForEver = !timeoutSeconds || timeoutSeconds <= 0;
    const deadline = isForEver ? Infinity : performance.now() + timeoutSeconds * 1000;
    const over = new AbortController();
    const end = () => over.abort();
    const endTimer = afterSeconds(timeoutSeconds, end);
    signal?.addEventListener('abort', end);
    const unreachable = new UnreachableHost();
    try {
      for (;;) {
        if (signal?.aborted) throw aborted(address, signal);
        const reached = await TcpStore.#reach(address, job, connectSecurely(target, jobKey), over.signal);
        if (reached instanceof TcpStore) return reached;
        if (!signal?.aborted && performance.now() + retryMillis > deadline) {
          const message = `could not connect to the store at ${address} within ${timeoutSeconds} seconds: ${reached.message}`;
          throw new DeadlineExceededError('ERR_COLL_DEADLINE', message, { operation: 'connect', cause: reached });
        }
        if (unreachable.hasLasted(reached)) {
          const message = `cannot connect to the store at ${address}: ${reached.message}; ${unreachable.advice}`;
          throw new CollError('ERR_COLL_STORE', message, { operation: 'connect', cause: reached });
        }
        await pause(retryMillis, undefined, { signal: over.signal }).catch(() => {});
      }
    } finally {
      endTimer();
      signal?.removeEventListener('abort', end);
    }
  }

  /**
   * Lets the server write a value if the connection ends before `close`, unless the key has a value by
   * then. `undefined` takes this back.
   * @throws ValueError for a larger key or value; RuntimeError once the store is closed;
   * UnavailableError if the server cannot be reached
   */
  async setWhenLost(key: string, value: Uint8Array | undefined): Promise<void> {
    requireKey(key, 'set');
    if (value) requireValue(value, 'set');
    await (value ? this.#ask('setWhenLost', key, value) : this.#ask('forget', key, nothing));
  }

  /** The address of this host on the connection to the server. Other members may reach this host there. */
  get localAddress(): string {
    return this.#localAddress;
  }

  protected async write(key: string, value: Uint8Array): Promise<void> {
    await this.#ask('set', key, value);
  }

  protected read(key: string, over: AbortSignal): Promise<Uint8Array> {
    const id = this.#nextId;
    over.addEventListener('abort', () => this.#cancel(id));
    return this.#ask('get', key, nothing);
  }

  protected override async readAll(keys: readonly string[], over: AbortSignal): Promise<readonly Uint8Array[]> {
    const values: Uint8Array[] = [];
    // An answer has the first values, as many as fit into a frame.
    while (values.length < keys.length) {
      const id = this.#nextId;
      const cancel = () => this.#cancel(id);
      over.addEventListener('abort', cancel);
      const answer = await this.#ask('getAll', 'keys', encodeKeys(keys.slice(values.length)));
      over.removeEventListener('abort', cancel);
      values.push(...decodeValues(answer));
    }
    return values;
  }

  protected async raise(key: string, amount: number): Promise<number> {
    return Number(Buffer.from(await this.#ask('add', key, Buffer.from(String(amount)))).toString('latin1'));
  }

  protected async exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    return (await this.#ask('compareSet', key, desired, expected))[0] === 1;
  }

  protected async erase(key: string): Promise<boolean> {
    return (await this.#ask('delete', key, nothing))[0] === 1;
  }

  protected override async release(): Promise<void> {
    if (this.#socket.destroyed) return;
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    // If the server has ended, nothing is left to take back.
    this.#ask('forget', allKeys, nothing).catch(() => {});
    this.#socket.end();
    this.#socket.destroySoon();
    // A stopped server does not receive the remaining data.
    const endTimer = afterSeconds(longestGoodbyeSeconds, () => this.#socket.destroy());
    await closed;
    endTimer();
  }

  /**
   * Opens a store over a connection. Returns the reason if that failed but may succeed in a later
   * attempt.
   * @throws CollError if no later attempt can succeed
   */
  static async #reach(address: string, job: string, socket: TLSSocket, over: AbortSignal): Promise<TcpStore | Error> {
    const giveUp = () => socket.destroy(new Error('the store did not answer'));
    over.addEventListener('abort', giveUp);
    if (over.aborted) giveUp();
    try {
      const failure = await secured(address, socket);
      return failure ?? (await new TcpStore(address, socket).#greet(job));
    } finally {
      over.removeEventListener('abort', giveUp);
    }
  }

  async #greet(job: string): Promise<TcpStore | Error> {
    try {
      await this.#ask('hello', job, Buffer.concat([Buffer.of(frameVersion), Buffer.from(release)]));
      return this;
    } catch (error) {
      await this.close();
      if (error instanceof UnavailableError) return error.cause instanceof Error ? error.cause : error;
      throw error;
    }
  }

  #ask(op: Op, key: string, value: Uint8Array, expected?: Uint8Array): Promise<Uint8Array> {
    const operation = operations[op] ?? op;
    if (this.#lost) return Promise.reject(this.#lost(operation));
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    const answered = new Promise<Uint8Array>((resolve, reject) => {
      this.#pending.set(id, { operation, resolve, reject });
      this.#socket.write(encodeRequest({ id, op, key, value, expected }));
    });
    if (op === 'get' || op === 'getAll') return answered;
    const endTimer = afterSeconds(longestAnswerSeconds, () => this.#giveUp(id));
    return answered.finally(endTimer);
  }

  #giveUp(id: number): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    const message = `the store at ${this.address} has not answered for ${longestAnswerSeconds} seconds: its process is stopped, or the network is interrupted`;
    pending?.reject(new UnavailableError('ERR_COLL_STORE', message, { operation: pending.operation }));
  }

  #cancel(id: number): void {
    if (!this.#pending.delete(id) || this.#socket.destroyed) return;
    this.#socket.write(encodeRequest({ id, op: 'cancel', key: '', value: nothing, expected: undefined }));
  }

  #settle({ id, isRefused, value }: Answer): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (!isRefused) pending?.resolve(value);
    else pending?.reject(errorFrom(Buffer.from(value).toString('utf8'), pending.operation));
  }

  #lose(cause?: Error): void {
    const why = cause ? `: ${cause.message}` : '';
    const message = `the connection to the store at ${this.address} was lost${why}; the process that runs the store has ended`;
    this.#lost ??= (operation) => new UnavailableError('ERR_COLL_STORE', message, { operation, cause });
    for (const { operation, reject } of this.#pending.values()) reject(this.#lost(operation));
    this.#pending.clear();
  }
}

interface Target {
  readonly host: string;
  readonly port: number;
}

function targetOf(address: unknown): Target {
  const url = typeof address === 'string' && URL.canParse(address) ? new URL(address) : undefined;
  if (url?.protocol === 'tcp:' && url.hostname !== '' && url.port !== '')
    return { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port) };
  throw new ValueError('ERR_COLL_VALUE', `the address of a store must be tcp://host:port, got ${quote(address)}`);
}

/**
 * Waits until both sides have proven that they have the job key. Returns undefined on success, or
 * the reason if that failed but may succeed in a later attempt.
 * @throws CollError if no later attempt can succeed
 */
function secured(address: string, socket: TLSSocket): Promise<Error | undefined> {
  return new Promise((resolve, reject) => {
    socket.once('secureConnect', () => {
      socket.removeListener('error', fail);
      resolve(undefined);
    });
    socket.once('error', fail);
    function fail(error: NodeJS.ErrnoException) {
      if (!error.code?.startsWith('ERR_SSL')) return resolve(error);
      const message = `the store at ${address} has a different job key, or the program at this address is not a store`;
      reject(new CollError('ERR_COLL_STORE', message, { operation: 'connect', cause: error }));
    }
  });
}

function errorFrom(refusal: string, operation: string): CollError {
  const [code = '', ...message] = refusal.split('\n');
  const text = message.join('\n');
  return code === 'ERR_COLL_VALUE'
    ? new ValueError(code, text, { operation })
    : new CollError('ERR_COLL_STORE', text, { operation });
}

function aborted(address: string, signal: AbortSignal): AbortedError {
  const message = `connecting to the store at ${address} was aborted`;
  return new AbortedError('ERR_COLL_ABORTED', message, { operation: 'connect', cause: signal.reason });
}
