import type { Socket } from 'node:net';
import { UnavailableError } from '@coll/core';

/** Internal fields of a socket that its type declarations lack: in Node.js a handle has `readStop`, in Bun `pause`. */
interface Wired {
  readonly _handle?: { readonly fd: number; readStop?(): number; pause?(): void } | null;
}

/**
 * Exchanges handshake messages of known lengths with a peer. The connection is closed if the peer
 * sends more bytes than these messages have, or takes longer than `longestMillis`.
 */
export class HandshakeStream {
  readonly #socket: Socket;
  readonly #bytes: Buffer;
  readonly #lengths: number[];
  #filled = 0;
  #taken = 0;
  #end: Error | undefined;
  #changed: () => void = () => {};

  /**
   * @param lengths lengths in bytes of all messages that the peer sends, in order
   */
  constructor(socket: Socket, lengths: readonly number[], longestMillis: number) {
    this.#socket = socket;
    this.#lengths = [...lengths];
    this.#bytes = Buffer.alloc(lengths.reduce((sum, length) => sum + length, 0));
    const late = setTimeout(
      () => socket.destroy(new Error('the other side did not identify itself in time')),
      longestMillis,
    );
    socket.setNoDelay(true);
    socket.on('data', (part: Buffer) => this.#take(part));
    socket.on('error', (error) => this.#close(error));
    socket.on('close', () => {
      clearTimeout(late);
      this.#close(new Error('the other process closed the connection during the handshake'));
    });
  }

  /** Waits for the peer's next message. @throws Error if the connection ends first */
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
    // Read no further: the following bytes belong to the next owner of the connection.
    if (this.#lengths.length === 0) this.#stopReading();
    return message;
  }

  /** Sends a message. The promise settles once the message has left this process. */
  send(message: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      // The reason why the connection has closed is known slightly later.
      this.#socket.write(message, (error) => (error ? setImmediate(() => reject(this.#end ?? error)) : resolve()));
    });
  }

  /** Sends a last message and ends the connection. */
  endWith(message: Buffer): void {
    this.#socket.end(message);
    this.#socket.destroySoon();
  }

  /** Closes the connection, unless its descriptor was duplicated. */
  drop(): void {
    this.#socket.destroy();
  }

  /**
   * Passes the connection's descriptor to `take`, which must duplicate it. Node.js keeps its own
   * until `drop`.
   * @throws UnavailableError if the connection has ended
   */
  handOver(take: (descriptor: number) => number): number {
    const descriptor = (this.#socket as Wired)._handle?.fd ?? -1;
    if (descriptor < 0) {
      throw new UnavailableError('ERR_COLL_PEER_FAILED', 'a connection closed before the group could use it', {
        cause: this.#end,
      });
    }
    return take(descriptor);
  }

  #stopReading(): void {
    const handle = (this.#socket as Wired)._handle;
    if (handle?.readStop) handle.readStop();
    else handle?.pause?.();
  }

  #take(part: Buffer): void {
    if (this.#filled + part.length > this.#bytes.length) {
      this.#socket.destroy(new Error('the other side sent more bytes than the handshake has'));
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
