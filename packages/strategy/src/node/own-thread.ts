import { syncBuiltinESMExports } from 'node:module';
import { Writable } from 'node:stream';
import workerThreads, { type MessagePort } from 'node:worker_threads';
import type { OwnThread } from '@coll/core/internal';
import { isBanner, LabelledLines, labelOf } from './labelled-lines.js';
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
  #replica = 0;
  #lines: ReadonlyMap<NodeJS.WriteStream, LabelledLines> = new Map();

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
    for (const stream of this.#output) this.#watch(stream);
  }

  label(replica: number): void {
    this.#replica = replica;
    const label = labelOf(replica, process.env);
    this.#lines = new Map(this.#output.map((stream) => [stream, new LabelledLines(label)]));
  }

  /** Counts and labels what a stream prints. */
  #watch(stream: NodeJS.WriteStream): void {
    const write = stream.write as (chunk: unknown, ...others: unknown[]) => boolean;
    stream.write = (chunk: unknown, ...others: unknown[]) => {
      if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return write.call(stream, chunk, ...others);
      const isRepeated = typeof chunk === 'string' && isBanner(chunk) && this.#replica > 0;
      const bytes = isRepeated ? Buffer.alloc(0) : bytesOf(chunk, others);
      const printed = this.#lines.get(stream)?.label(bytes) ?? bytes;
      const hasRoom = write.call(stream, printed, ...others);
      this.printedBytes += printed.length;
      return hasRoom;
    };
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

function bytesOf(chunk: string | Uint8Array, [encoding]: readonly unknown[]): Buffer {
  if (typeof chunk !== 'string') return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
}
