import type { HostChannel, OwnThread } from '@coll/core/internal';
import type { Loading } from '../node/module-loading.js';
import { ended, nameOfReplicas, own, ready } from './messages.js';
import { type WebMessage, type WebPort, type WorkerScope, web, workerScope } from './web.js';

// A worker may contain several copies of this module, of which one takes its start.
const taken = Symbol.for('@coll/strategy.replicaThread');

/** The worker that this code runs in, which a `PageThread` has started. */
export class PageOwnThread implements OwnThread<Loading> {
  readonly data: unknown;
  readonly channel: HostChannel;
  readonly printedBytes = 0;
  readonly #scope: WorkerScope;

  /**
   * This worker, once its page has sent the data; undefined in a worker that no `PageThread` has
   * started, and from the second call on.
   */
  static find(): Promise<PageOwnThread> | undefined {
    const scope = workerScope() as (WorkerScope & { [taken]?: true }) | undefined;
    if (!scope?.name?.startsWith(nameOfReplicas) || scope[taken]) return undefined;
    scope[taken] = true;
    return new Promise((resolve) => {
      const hear = (event: WebMessage) => {
        const begin = own(event.data, 'start');
        if (!begin) return;
        event.stopImmediatePropagation();
        scope.removeEventListener('message', hear);
        resolve(new PageOwnThread(scope, begin.data, begin.port as WebPort));
      };
      scope.addEventListener('message', hear);
      const lock = `coll:${crypto.randomUUID()}`;
      void web.navigator.locks.request(lock, () => {
        scope.postMessage(ready(lock));
        return new Promise(() => {});
      });
    });
  }

  private constructor(scope: WorkerScope, data: unknown, port: WebPort) {
    this.#scope = scope;
    this.data = data;
    this.channel = {
      postMessage: (message, moved = []) => port.postMessage(message, moved),
      on: (_, listener) => {
        port.addEventListener('message', ({ data: message }) => listener(message as never));
        port.start();
      },
      close: () => port.close(),
    };
  }

  /** The console of a page names the worker. */
  label(): void {}

  async flush(): Promise<void> {}

  async prepare(): Promise<void> {}

  /** In a page an uncaught error ends no worker, so `callback` is followed by its end. */
  onCrash(callback: (error: unknown) => void): void {
    const listen = (type: 'error' | 'unhandledrejection') =>
      this.#scope.addEventListener(type, (event) => {
        if (event.defaultPrevented) return;
        event.preventDefault();
        callback(event.error ?? event.reason ?? event.message);
        this.end();
      });
    listen('error');
    listen('unhandledrejection');
  }

  end(): void {
    this.channel.postMessage(ended);
    this.#scope.close();
  }
}
