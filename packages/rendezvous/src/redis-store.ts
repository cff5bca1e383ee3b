import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { requireJob } from './job-key.js';
import { NoAnswer, type OutageOptions, requireOutage, ServerStore } from './server-store.js';
import { noCounter } from './store.js';
import { withoutPassword } from './without-password.js';

/**
 * The methods of an `ioredis` client that the store uses. `Buffer` arguments and results are
 * declared as `Uint8Array`, so that this interface needs no types of Node.js.
 */
export interface RedisClient {
  /** The value of a key; null if there is none. */
  getBuffer(key: string): Promise<Uint8Array | null>;
  /** Writes a value that expires after `seconds`. */
  set(key: string, value: RedisValue, unit: 'EX', seconds: number): Promise<unknown>;
  /** Deletes a key; returns 1 if it existed, else 0. */
  del(key: string): Promise<number>;
  /** Runs a Lua script. The first `keys` of `values` are the keys that the script uses. */
  eval(script: string, keys: number, ...values: RedisValue[]): Promise<unknown>;
}

type RedisValue = string | Uint8Array | number;

/** The Redis server, and the job that uses it. */
export interface RedisStoreOptions extends OutageOptions {
  /**
   * The URL of a server, or a client, which the caller must close. A URL requires that `ioredis` is
   * installed.
   */
  readonly redis: RedisClient | string;
  /** Prefix of each key, which separates jobs that use the same server. */
  readonly job: string;
  /** Seconds after which a written value expires. Default: 86400, a day. */
  readonly expireSeconds?: number;
}

const redisStoreOptions = knownOptions<RedisStoreOptions>('RedisStore', {
  redis: true,
  job: true,
  expireSeconds: true,
  outageSeconds: true,
});

/** A Redis client that the store has created, and must close. */
interface OwnClient extends RedisClient {
  readonly status: string;
  readonly stream: { readonly writable: boolean };
  on(event: 'error', listener: (error: Error) => void): unknown;
  connect(): Promise<unknown>;
  quit(): Promise<unknown>;
  disconnect(): void;
}

const longestAnswerMillis = 10_000;
const oneDay = 86_400;

const compareAndSet = `
local present = redis.call('GET', KEYS[1])
if ARGV[1] == '0' and present or ARGV[1] == '1' and present ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[3], 'EX', ARGV[4])
return 1`;

// Lua's numbers are those of JavaScript; ARGV[3] is the largest safe integer.
const raise = `
local text = redis.pcall('GET', KEYS[1]) or '0'
if type(text) ~= 'string' or #text > 17 or not text:match('^-?%d+$') then return false end
local sum = tonumber(text) + tonumber(ARGV[1])
if math.abs(sum) > tonumber(ARGV[3]) then return false end
local digits = string.format('%.0f', sum)
redis.call('SET', KEYS[1], digits, 'EX', ARGV[2])
return digits`;

/**
 * A store in a Redis or Valkey server.
 *
 * @example
 * ```ts
 * import { RedisStore } from '@coll/rendezvous';
 *
 * await using store = await RedisStore.connect({ redis: 'redis://127.0.0.1:6379', job: 'train' });
 * await store.set('address', new TextEncoder().encode('10.0.0.1:4000'));
 * console.log(new TextDecoder().decode(await store.get('address'))); // 10.0.0.1:4000
 * ```
 */
export class RedisStore extends ServerStore {
  readonly #client: RedisClient;
  readonly #own: OwnClient | undefined;
  readonly #prefix: string;
  readonly #seconds: number;
  #over: Promise<unknown> | undefined;
  /**
   * Settles when the first attempt to connect has ended, if the store has created its own client.
   * The client retries by itself.
   */
  readonly #attempted: Promise<unknown> | undefined;
  /** The reason why the client that the store has created is not connected. */
  #trouble = new Error('the connection was lost');

  private constructor(client: RedisClient | OwnClient, options: RedisStoreOptions) {
    super(options);
    const { redis, job, expireSeconds = oneDay } = options;
    this.#client = client;
    this.#own = typeof redis === 'string' ? (client as OwnClient) : undefined;
    // Without a listener, the client prints errors.
    this.#own?.on('error', (error) => {
      this.#trouble = error;
    });
    this.#attempted = this.#own?.connect().catch(() => {});
    this.#prefix = `coll/${job}/`;
    this.#seconds = expireSeconds;
  }

  /**
   * @throws ValueError for an invalid client, URL, job name or number of seconds; CollError if a
   * URL was given, but `ioredis` is not installed
   */
  static async connect(options: RedisStoreOptions): Promise<RedisStore> {
    const {
      redis,
      job,
      expireSeconds = oneDay,
    } = optionsOf(options, "{ redis: 'redis://host:6379', job: 'training' }", redisStoreOptions);
    requireJob(job);
    requireClient(redis);
    requireOutage(options);
    if (!(Number.isSafeInteger(expireSeconds) && expireSeconds >= 1))
      throw new ValueError(
        'ERR_COLL_VALUE',
        `expireSeconds must be a whole number, 1 or more, got ${quote(expireSeconds)}`,
      );
    return new RedisStore(typeof redis === 'string' ? await clientOf(redis) : redis, options);
  }

  protected async put(key: string, value: Uint8Array): Promise<void> {
    await this.#ask((client) => client.set(this.#prefix + key, Buffer.from(value), 'EX', this.#seconds));
  }

  protected async peek(key: string): Promise<Uint8Array | undefined> {
    const value = await this.#ask((client) => client.getBuffer(this.#prefix + key));
    return value === null ? undefined : Uint8Array.from(value);
  }

  protected async increase(key: string, amount: number): Promise<number> {
    const values = [this.#prefix + key, amount, this.#seconds, Number.MAX_SAFE_INTEGER];
    const sum = await this.#ask((client) => client.eval(raise, 1, ...values));
    if (sum === null) throw noCounter(key, amount);
    return Number(sum);
  }

  protected async swap(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    const present = [expected === undefined ? '0' : '1', Buffer.from(expected ?? [])] as const;
    const values = [this.#prefix + key, ...present, Buffer.from(desired), this.#seconds];
    return (await this.#ask((client) => client.eval(compareAndSet, 1, ...values))) === 1;
  }

  protected async drop(key: string): Promise<boolean> {
    return (await this.#ask((client) => client.del(this.#prefix + key))) === 1;
  }

  protected override refusal(cause: unknown): string | undefined {
    return isRefusal(cause) ? `Redis refused the command: ${cause.message}` : undefined;
  }

  protected override async release(): Promise<void> {
    await super.release();
    if (this.#own) this.#over ??= closeClient(this.#own);
    await this.#over;
  }

  /** Whether the client that the store has created is not connected. */
  #isAway(): boolean {
    return this.#own !== undefined && !(this.#own.status === 'ready' && this.#own.stream.writable);
  }

  /**
   * Makes a Redis call and returns the answer.
   * @throws NoAnswer if Redis does not answer; Redis's error if it refuses
   */
  async #ask<Answer>(call: (client: RedisClient) => Promise<Answer>): Promise<Answer> {
    await this.#attempted;
    const isUnsent = this.#isAway();
    try {
      if (isUnsent) throw this.#trouble;
      return await call(this.#client);
    } catch (error) {
      const cause = this.#isAway() ? this.#trouble : error;
      if (isRefusal(cause)) throw cause;
      throw new NoAnswer((cause as Error).message, isUnsent, cause);
    }
  }
}

/** Whether an error of ioredis is an error reply of the server. */
function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError';
}

function requireClient(redis: unknown): asserts redis is RedisClient | string {
  const { getBuffer, eval: script } = Object(redis) as Partial<RedisClient>;
  const isUrl = typeof redis === 'string' && /^(rediss?:\/\/|\/)/.test(redis);
  if (isUrl || (typeof getBuffer === 'function' && typeof script === 'function')) return;
  const given = quote(typeof redis === 'string' ? withoutPassword(redis) : redis);
  throw new ValueError('ERR_COLL_VALUE', `redis must be a URL redis://host:port or an ioredis client, got ${given}`);
}

/** Closes a client, after a `QUIT` command if the server is reachable. */
async function closeClient(client: OwnClient): Promise<void> {
  if (client.status === 'ready') await client.quit().catch(() => {});
  client.disconnect();
}

async function clientOf(url: string): Promise<OwnClient> {
  try {
    const { Redis } = await import('ioredis');
    // The store decides about retries, so the client must not queue or resend calls.
    const repeatsNothing = {
      autoResendUnfulfilledCommands: false,
      enableOfflineQueue: false,
      lazyConnect: true,
      maxRetriesPerRequest: 0,
    };
    return new Redis(url, { commandTimeout: longestAnswerMillis, ...repeatsNothing }) as OwnClient;
  } catch (cause) {
    throw new CollError('ERR_COLL_MODULE', 'RedisStore needs the package ioredis: npm install ioredis', { cause });
  }
}
