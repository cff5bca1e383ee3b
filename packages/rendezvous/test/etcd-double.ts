import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

interface Body {
  readonly key?: string;
  readonly value?: string;
  readonly compare?: readonly { readonly key: string; readonly target: string; readonly value?: string }[];
  readonly success?: readonly { readonly requestPut: { readonly key: string; readonly value: string } }[];
}

/** A double of etcd's JSON gateway: the requests that an EtcdStore makes, with answers that leave out what is empty or false, as the real ones do. */
export class EtcdDouble {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(): Promise<EtcdDouble> {
    const values = new Map<string, string>();
    const server = createServer((request, response) => {
      void text(request).then((body) => {
        response.end(JSON.stringify(answer(values, request.url ?? '', JSON.parse(body) as Body)));
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

function answer(
  values: Map<string, string>,
  path: string,
  { key = '', value = '', compare = [], success = [] }: Body,
): object {
  const present = values.get(key);
  switch (path) {
    case '/v3/kv/put':
      values.set(key, value);
      return { header: {} };
    case '/v3/kv/range':
      if (present === undefined) return { header: {} };
      return { kvs: [present === '' ? { key } : { key, value: present }], count: '1' };
    case '/v3/kv/deleterange':
      return values.delete(key) ? { deleted: '1' } : {};
    case '/v3/kv/txn': {
      const holds = compare.every((one) =>
        one.target === 'CREATE' ? !values.has(one.key) : values.get(one.key) === (one.value ?? ''),
      );
      if (!holds) return { header: {} };
      for (const { requestPut } of success) values.set(requestPut.key, requestPut.value);
      return { succeeded: true };
    }
    default:
      throw new Error(`the double knows no ${path}`);
  }
}
