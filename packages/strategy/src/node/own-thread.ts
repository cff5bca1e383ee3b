import { syncBuiltinESMExports } from 'node:module';
import { Writable } from 'node:stream';
import workerThreads, { type MessagePort } from 'node:worker_threads';
import type { OwnThread } from '@coll/core/internal';
import type { Loading } from './module-loading.js';

/** Marks the start data of a thread that a `NodeThread` has started. */
export const replicaRole = 'coll replica';

type StartData = Loading & { readonly role: typeof replicaRole; readonly port: MessagePort };

/** The worker thread that this code runs in, which a `NodeThread` has started. */
export class NodeOwnThread implements OwnThread<Loading> {
  readonly data: unknown;
  readonly channel: MessagePort;
  printedBytes = 0;
  readonly #output = [process.stdout, process.stderr];
  #hasTsx: boolean;

  /** This thread; undefined in a thread that no `NodeThread` has started, and from the second call on. */
  static find(): NodeOwnThread | undefined {
    const data = workerThreads.workerData as StartData | null | undefined;
    if (data?.role !== replicaRole) return undefined;
    // Modules that are loaded later see no `workerData`.
    Object.assign(workerThreads, { workerData: undefined });
    syncBuiltinESMExports();
    return new NodeOwnThread(data);
  }

  private constructor({ port, ...data }: StartData) {
    this.data = data;
    this.channel = port;
    this.#hasTsx = data.tsx !== undefined;
    for (const stream of this.#output) {
      const write = stream.write as (chunk: string | Uint8Array, ...others: unknown[]) => boolean;
      stream.write = (chunk: string | Uint8Array, ...others: unknown[]) => {
        // Counted afterwards, because a chunk of the wrong type throws.
        const hasRoom = write.call(stream, chunk, ...others);
        this.printedBytes +=
          typeof chunk === 'string' ? Buffer.byteLength(chunk, encodingIn(others)) : chunk.byteLength;
        return hasRoom;
      };
    }
  }

  async flush(): Promise<void> {
    // Not `stream.write`, which a module may have replaced.
    await Promise.all(
      this.#output.map((stream) => new Promise((done) => Writable.prototype.write.call(stream, '', 'utf8', done))),
    );
  }

  async prepare({ tsx }: Loading): Promise<void> {
    if (!tsx || this.#hasTsx) return;
    ((await import(tsx.esm)) as { register(): void }).register();
    this.#hasTsx = true;
  }

  onCrash(callback: (error: unknown) => void): void {
    process.on('uncaughtExceptionMonitor', (error) => {
      if (process.listenerCount('uncaughtException') === 0) callback(error);
    });
  }

  end(): void {
    this.channel.close();
    // A listener of the user's module must not keep the thread alive any longer.
    workerThreads.parentPort?.unref();
  }
}

function encodingIn([encoding]: readonly unknown[]): BufferEncoding {
  return typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8';
}
