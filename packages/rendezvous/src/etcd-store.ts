import { CollError, ValueError } from '@coll/core';
import { knownOptions, optionsOf, quote } from '@coll/core/internal';
import { requireJob } from './job-key.js';
import { NoAnswer, type OutageOptions, ServerStore } from './server-store.js';
import { raised, sameBytes } from './store.js';
import { withoutPassword } from './without-password.js';

/** The etcd server, and the job that uses it. */
export interface EtcdStoreOptions extends OutageOptions {
  /** URL of a member of etcd 3.4 or later: `http://127.0.0.1:2379`. */
  readonly url: string;
  /** Prefix of each key, which separates jobs that use the same server. */
  readonly job: string;
  /** Headers sent with each request, such as `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

const etcdStoreOptions = knownOptions<EtcdStoreOptions>('EtcdStore', {
  url: true,
  job: true,
  headers: true,
  outageSeconds: true,
});

/** The current value of a key, and its revision. */
interface Present {
  readonly value: Uint8Array;
  /** The revision of the value. It changes with every write. */
  readonly revision: string;
}

/**
 * An entry in an answer of etcd. The gateway returns field names either as in etcd or in camel
 * case.
 */
interface KeyValue {
  readonly value?: string;
  readonly mod_revision?: string;
  readonly modRevision?: string;
}

const longestAnswerMillis = 10_000;
// The HTTP status codes of an etcd server that is stopping or has no leader, and of proxies in front of it.
const unavailable: readonly number[] = [408, 502, 503, 504];

/**
 * A store in etcd, accessed through the server's JSON gateway.
 *
 * @example
 * ```ts
 * import { EtcdStore } from '@coll/rendezvous';
 *
 * await using store = new EtcdStore({ url: 'http://127.0.0.1:2379', job: 'train' });
 * await store.set('address', new TextEncoder().encode('10.0.0.1:4000'));
 * console.log(new TextDecoder().decode(await store.get('address'))); // 10.0.0.1:4000
 * ```
 */
export class EtcdStore extends ServerStore {
  readonly #options: EtcdStoreOptions;

  /**
   * @throws ValueError for an invalid URL, a URL with a password, an invalid job name or number of
   * seconds
   */
  constructor(options: EtcdStoreOptions) {
    const given = optionsOf(
      options,
      "{ url: 'http://127.0.0.1:2379', job: 'training' }",
      etcdStoreOptions,
    ) as EtcdStoreOptions;
    super(given);
    const { url, job } = given;
    requireJob(job);
    requireUrl(url);
    this.#options = given;
  }

  protected async put(key: string, value: Uint8Array): Promise<void> {
    await this.#post('kv/put', { key: this.#named(key), value: encode(value) });
  }

  protected async peek(key: string): Promise<Uint8Array | undefined> {
    return (await this.#find(key))?.value;
  }

  protected async increase(key: string, amount: number): Promise<number> {
    for (;;) {
      const present = await this.#find(key);
      const sum = raised(key, present?.value, amount);
      if (await this.#replace(key, present, Buffer.from(String(sum)))) return sum;
    }
  }

  protected async swap(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    for (;;) {
      const present = await this.#find(key);
      if (!sameBytes(present?.value, expected)) return false;
      if (await this.#replace(key, present, desired)) return true;
    }
  }

  protected async drop(key: string): Promise<boolean> {
    const { deleted = '0' } = await this.#post('kv/deleterange', { key: this.#named(key) });
    return deleted === '1';
  }

  /**
   * Writes a value unless the key has changed since `present` was read. Compares revisions instead
   * of values, because a request with two values may exceed etcd's size limit.
   */
  async #replace(key: string, present: Present | undefined, desired: Uint8Array): Promise<boolean> {
    const name = this.#named(key);
    const compare = [{ key: name, target: 'MOD', modRevision: present?.revision ?? '0' }];
    const success = [{ requestPut: { key: name, value: encode(desired) } }];
    // The answer omits false values.
    const { succeeded = false } = await this.#post('kv/txn', { compare, success });
    return succeeded === true;
  }

  async #find(key: string): Promise<Present | undefined> {
    const { kvs = [] } = await this.#post('kv/range', { key: this.#named(key) });
    const [found] = kvs as readonly KeyValue[];
    if (!found) return undefined;
    const { value = '', mod_revision: revision = found.modRevision } = found;
    // Without a revision no write would ever succeed, and retries would never end.
    if (revision === undefined) throw new CollError('ERR_COLL_STORE', this.#noRevision(), { operation: 'kv/range' });
    return { value: Uint8Array.from(Buffer.from(value, 'base64')), revision };
  }

  #noRevision(): string {
    return `the server at ${this.#options.url} returned no key revision: it must be the JSON gateway of etcd 3.4 or later`;
  }

  #named(key: string): string {
    return encode(Buffer.from(`coll/${this.#options.job}/${key}`));
  }

  async #post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const { url, headers } = this.#options;
    let answer: Response;
    let text: string;
    try {
      const request = {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
        signal: AbortSignal.timeout(longestAnswerMillis),
      };
      answer = await fetch(new URL(`/v3/${path}`, url), request);
      text = await answer.text();
    } catch (error) {
      const { message, code } = ((error as Error).cause ?? error) as NodeJS.ErrnoException;
      throw new NoAnswer(`no etcd answers at ${url} (${message || code})`, code === 'ECONNREFUSED', error);
    }
    if (answer.ok) return JSON.parse(text) as Readonly<Record<string, unknown>>;
    const reason = `etcd at ${url} refused the request: status ${answer.status}, ${text.slice(0, 200)}`;
    if (unavailable.includes(answer.status)) throw new NoAnswer(reason, false);
    throw new CollError('ERR_COLL_STORE', reason, { operation: path });
  }
}

function requireUrl(url: unknown): asserts url is string {
  const parsed = typeof url === 'string' && /^https?:/.test(url) && URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && parsed.username === '' && parsed.password === '') return;
  const given = quote(typeof url === 'string' ? withoutPassword(url) : url);
  const advice = parsed ? '; pass the credentials of a user in an Authorization header, with the option headers' : '';
  throw new ValueError('ERR_COLL_VALUE', `the URL of etcd must be http://host:port, got ${given}${advice}`);
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
