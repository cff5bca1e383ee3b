import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Body {
  readonly key?: string;
  readonly value?: string;
  readonly compare?: readonly { readonly key: string; readonly modRevision: string }[];
  readonly success?: readonly { readonly requestPut: { readonly key: string; readonly value: string } }[];
}

/** A double of etcd's JSON gateway: the requests that an EtcdStore makes, with answers that leave out what is empty or false, as the real ones do. */
export class EtcdDouble {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** @param revisionName what the field of a key's revision is called */
  static async listen(revisionName = 'mod_revision'): Promise<EtcdDouble> {
    const table: Table = { values: new Map(), revision: 0, revisionName };
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        response.end(JSON.stringify(answer(table, request.url ?? '', JSON.parse(body) as Body)));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new EtcdDouble(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }
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
