import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { ServerDouble } from './server-double.js';

interface Body {
  readonly key?: string;
  readonly value?: string;
  readonly compare?: readonly { readonly key: string; readonly modRevision: string }[];
  readonly success?: readonly { readonly requestPut: { readonly key: string; readonly value: string } }[];
}

/** A double of etcd's JSON gateway: the requests that an EtcdStore makes, with answers that leave out what is empty or false, as the real ones do. */
export class EtcdDouble extends ServerDouble {
  readonly #table: Table;
  readonly #faults: Faults;

  /** @param revisionName what the field of a key's revision is called */
  static async listen(revisionName = 'mod_revision'): Promise<EtcdDouble> {
    const double = new EtcdDouble(
      { values: new Map(), revision: 0, revisionName },
      { isLeaderless: false, losesNextOf: '' },
    );
    await double.start();
    return double;
  }

  private constructor(table: Table, faults: Faults) {
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        if (faults.isLeaderless) {
          response.statusCode = 503;
          response.end('{"code":14,"error":"etcdserver: no leader"}');
          return;
        }
        const answered = JSON.stringify(answer(table, request.url ?? '', JSON.parse(body) as Body));
        if (faults.losesNextOf !== '' && request.url?.endsWith(faults.losesNextOf)) {
          faults.losesNextOf = '';
          request.socket.destroy();
        } else response.end(answered);
      });
    });
    super('http', server);
    this.#table = table;
    this.#faults = faults;
  }

  /** The next request to this path is done, and then its connection ends without an answer. */
  loseNextAnswer(path = 'txn'): void {
    this.#faults.losesNextOf = path;
  }

  /** From now on it has no leader, or has one again. */
  set isLeaderless(is: boolean) {
    this.#faults.isLeaderless = is;
  }

  async forget(): Promise<void> {
    this.#table.values.clear();
    this.#table.revision = 0;
  }
}

interface Faults {
  isLeaderless: boolean;
  /** A path; empty: of none. */
  losesNextOf: string;
}

interface Table {
  readonly values: Map<string, { readonly value: string; readonly revision: string }>;
  revision: number;
  readonly revisionName: string;
}

function answer(table: Table, path: string, { key = '', value = '', compare = [], success = [] }: Body): object {
  const { values } = table;
  const put = (name: string, text: string) => {
    table.revision += 1;
    values.set(name, { value: text, revision: `${table.revision}` });
  };
  const present = values.get(key);
  switch (path) {
    case '/v3/kv/put':
      put(key, value);
      return { header: {} };
    case '/v3/kv/range': {
      if (present === undefined) return { header: {} };
      const found = { key, [table.revisionName]: present.revision };
      return { kvs: [present.value === '' ? found : { ...found, value: present.value }], count: '1' };
    }
    case '/v3/kv/deleterange':
      return values.delete(key) ? { deleted: '1' } : {};
    case '/v3/kv/txn': {
      const holds = compare.every((one) => (values.get(one.key)?.revision ?? '0') === one.modRevision);
      if (!holds) return { header: {} };
      for (const { requestPut } of success) put(requestPut.key, requestPut.value);
      return { succeeded: true };
    }
    default:
      throw new Error(`the double knows no ${path}`);
  }
}
