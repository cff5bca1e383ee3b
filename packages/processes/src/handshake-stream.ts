import type { Socket } from 'node:net';
import { UnavailableError } from '@coll/core';

/** What Node's types do not show of a socket. */
interface Wired {
  readonly _handle?: { readonly fd: number; readStop(): number } | null;
}

/** Messages of known lengths from the other side, and what is said to it. Whatever does not keep to them ends the connection. */
export class HandshakeStream {
  readonly #socket: Socket;
  readonly #bytes: Buffer;
  readonly #lengths: number[];
  #filled = 0;
  #taken = 0;
  #end: Error | undefined;
  #changed: () => void = () => {};

  /** @param lengths of the messages that the other side sends, all of them */
  constructor(socket: Socket, lengths: readonly number[], longestMillis: number) {
    this.#socket = socket;
    this.#lengths = [...lengths];
    this.#bytes = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0));
    const late = setTimeout(() => socket.destroy(new Error('it did not say who it is in time')), longestMillis);
    socket.setNoDelay(true);
    socket.on('data', (part: Buffer) => this.#take(part));
    socket.on('error', (error) => this.#close(error));
    socket.on('close', () => {
      clearTimeout(late);
      this.#close(new Error('the other side ended the connection'));
    });
  }

  /** The next message. @throws Error where the connection ends before */
  async next(): Promise<Buffer> {
    const length = this.#lengths.shift() as number;
    while (this.#filled < this.#taken + length) {
      if (this.#end) throw this.#end;
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    const message = this.#bytes.subarray(this.#taken, this.#taken + length);
    this.#taken += length;
    // Not one byte more: what comes next is for whom the connection is handed over to.
    if (this.#lengths.length === 0) (this.#socket as Wired)._handle?.readStop();
    return message;
  }

  /** Sends a message; it has left this process when the promise settles. */
  send(message: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      // What ended the connection is known a moment later.
      this.#socket.write(message, (error) => (error ? setImmediate(() => reject(this.#end ?? error)) : resolve()));
    });
  }

  /** Sends a last message and ends the connection. */
  endWith(message: Buffer): void {
    this.#socket.end(message);
    this.#socket.destroySoon();
  }

  /** Ends the connection. */
  drop(): void {
    this.#socket.destroy();
  }

  /** Hands the connection over, by its descriptor; Node lets go of it. @throws UnavailableError where it has ended */
  handOver(take: (descriptor: number) => number): number {
    const descriptor = (this.#socket as Wired)._handle?.fd ?? -1;
    if (descriptor < 0) {
      throw new UnavailableError('ERR_COLL_PEER_FAILED', 'a connection ended before it could be used', {
        cause: this.#end,
      });
    }
    const taken = take(descriptor);
    this.#socket.destroy();
    return taken;
  }

  #take(part: Buffer): void {
    if (this.#filled + part.length > this.#bytes.length) {
      this.#socket.destroy(new Error('it said more than it should'));
      return;
    }
    this.#filled += part.copy(this.#bytes, this.#filled);
    this.#changed();
  }

  #close(error: Error): void {
    this.#end ??= error;
    this.#changed();
  }
}
