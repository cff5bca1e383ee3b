import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';

const headerBytes = 4;

/** Messages over a stream: the length of each, then what `v8.serialize` makes of it. */
export class MessageSocket {
  readonly socket: Socket;
  #received: Buffer[] = [];
  #length = 0;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  send(message: unknown): void {
    const body = serialize(message);
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32LE(body.length);
    this.socket.write(header);
    this.socket.write(body);
  }

  /** Replaces the listener. */
  listen(onMessage: (message: unknown) => void): void {
    this.socket.removeAllListeners('data');
    this.socket.on('data', (data) => {
      this.#received.push(data as Buffer);
      this.#length += data.length;
      for (let message = this.#take(); message !== undefined; message = this.#take()) onMessage(message.content);
    });
  }

  /** The next message that has arrived as a whole. */
  #take(): { readonly content: unknown } | undefined {
    if (this.#length < headerBytes) return undefined;
    const [first] = this.#received as [Buffer];
    const all = first.length >= headerBytes ? first : this.#join();
    const end = headerBytes + all.readUInt32LE();
    if (this.#length < end) return undefined;
    const whole = this.#join();
    this.#received = whole.length === end ? [] : [whole.subarray(end)];
    this.#length -= end;
    return { content: deserialize(whole.subarray(headerBytes, end)) };
  }

  #join(): Buffer {
    const whole = this.#received.length === 1 ? (this.#received[0] as Buffer) : Buffer.concat(this.#received);
    this.#received = [whole];
    return whole;
  }
}
