import { CollError, optionsOf, quote, UnavailableError, ValueError } from '@coll/core';
import { CheckedStore } from './checked-store.js';
import { requireJob } from './job-key.js';
import { raised } from './store.js';
import { poll } from './waiting.js';

/** Which etcd, and which job in it. */
export interface EtcdStoreOptions {
  /** Of a member of etcd 3.4 or later: `http://127.0.0.1:2379`. */
  readonly url: string;
  /** What stands before each key, to keep jobs apart. */
  readonly job: string;
  /** Sent with each request, such as an `Authorization`. */
  readonly headers?: Readonly<Record<string, string>>;
}

const longestAnswerMillis = 10_000;

/** A store in etcd, by the JSON gateway of its server. */
export class EtcdStore extends CheckedStore {
  readonly #options: EtcdStoreOptions;

  /** @throws ValueError for what is no URL, or no name of a job */
  constructor(options: EtcdStoreOptions) {
    super();
    const { url, job } = optionsOf(options, "{ url: 'http://127.0.0.1:2379', job: 'training' }");
    requireJob(job);
    if (typeof url !== 'string' || !/^https?:/.test(url) || !URL.canParse(url))
      throw new ValueError('ERR_COLL_VALUE', `the URL of an etcd is http://host:port, not ${quote(url)}`);
    this.#options = options;
  }

  protected async write(key: string, value: Uint8Array): Promise<void> {
    await this.#post('kv/put', { key: this.#named(key), value: encode(value) });
  }

  protected read(key: string, over: AbortSignal): Promise<Uint8Array> {
    return poll(() => this.#peek(key), over);
  }

  protected async raise(key: string, amount: number): Promise<number> {
    for (;;) {
      const value = await this.#peek(key);
      const sum = raised(key, value, amount);
      if (await this.exchange(key, value, Buffer.from(String(sum)))) return sum;
    }
  }

  protected async exchange(key: string, expected: Uint8Array | undefined, desired: Uint8Array): Promise<boolean> {
    const name = this.#named(key);
    const compare =
      expected === undefined
        ? { key: name, target: 'CREATE', createRevision: '0' }
        : { key: name, target: 'VALUE', value: encode(expected) };
    const success = [{ requestPut: { key: name, value: encode(desired) } }];
    // An answer leaves out what is false.
    const { succeeded = false } = await this.#post('kv/txn', { compare: [compare], success });
    return succeeded === true;
  }

  protected async erase(key: string): Promise<boolean> {
    const { deleted = '0' } = await this.#post('kv/deleterange', { key: this.#named(key) });
    return deleted === '1';
  }

  async #peek(key: string): Promise<Uint8Array | undefined> {
    const { kvs = [] } = await this.#post('kv/range', { key: this.#named(key) });
    const [found] = kvs as readonly { readonly value?: string }[];
    return found && Uint8Array.from(Buffer.from(found.value ?? '', 'base64'));
  }

  #named(key: string): string {
    return encode(Buffer.from(`coll/${this.#options.job}/${key}`));
  }

  async #post(path: string, body: object): Promise<Readonly<Record<string, unknown>>> {
    const { url, headers } = this.#options;
    const operation = path;
    let answer: Response;
    try {
      const request = {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
        signal: AbortSignal.timeout(longestAnswerMillis),
      };
      answer = await fetch(new URL(`/v3/${path}`, url), request);
    } catch (cause) {
      throw new UnavailableError('ERR_COLL_STORE', `no etcd answers at ${url}`, { operation, cause });
    }
    if (answer.ok) return (await answer.json()) as Readonly<Record<string, unknown>>;
    const told = `etcd at ${url} refuses: status ${answer.status}, ${(await answer.text()).slice(0, 200)}`;
    throw new CollError('ERR_COLL_STORE', told, { operation });
  }
}

function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
