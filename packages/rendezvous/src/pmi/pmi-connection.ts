import type { Duplex } from 'node:stream';
import { CollError, UnavailableError } from '@coll/core';
import { quote } from '@coll/core/internal';

/**
 * Takes one whole answer from the beginning of what has arrived; undefined while it is incomplete.
 * @throws CollError for bytes that are not of the protocol
 */
export type TakeAnswer = (received: string) => { readonly answer: string; readonly rest: string } | undefined;

// Values have at most 1,024 bytes in all known launchers, and an answer holds one.
const mostCharacters = 16_384;

/** The requests of one process to the PMI server of its launcher, one after the other. */
export class PmiConnection {
  readonly #stream: Duplex;
  #received = '';
  #waiting: { take: TakeAnswer; resolve(answer: string): void; reject(error: CollError): void } | undefined;
  #failure: CollError | undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.setEncoding('latin1');
    stream.on('data', (text: string) => this.#receive(text));
    stream.on('error', (cause) => this.#fail(lost(cause)));
    stream.on('close', () => this.#fail(lost()));
  }

  /**
   * Sends a request and waits for its answer.
   * @throws UnavailableError (ERR_COLL_STORE) if the launcher closes the connection; CollError
   * (ERR_COLL_STORE) for an answer that is not of the protocol
   */
  ask(request: string, take: TakeAnswer): Promise<string> {
    return new Promise((resolve, reject) => {
      if (this.#failure) return reject(this.#failure);
      this.#waiting = { take, resolve, reject };
      this.#stream.write(request, 'latin1');
      this.#receive('');
    });
  }

  close(): void {
    this.#stream.destroy();
  }

  #receive(text: string): void {
    this.#received += text;
    try {
      const taken = this.#waiting?.take(this.#received);
      if (taken) {
        this.#received = taken.rest;
        const { resolve } = this.#waiting as { resolve(answer: string): void };
        this.#waiting = undefined;
        resolve(taken.answer);
      } else if (this.#received.length > mostCharacters) throw notOfProtocol(this.#received);
    } catch (error) {
      this.#fail(error as CollError);
      this.close();
    }
  }

  #fail(error: CollError): void {
    this.#failure ??= error;
    this.#waiting?.reject(this.#failure);
    this.#waiting = undefined;
  }
}

/** The error for an answer that the protocol does not know. */
export function notOfProtocol(answer: string): CollError {
  const message = `the PMI server of the launcher gave an answer that is not of the protocol: ${quote(answer.slice(0, 100))}`;
  return new CollError('ERR_COLL_STORE', `${message}; set COLL_STORE to join through a store instead`, {
    operation: 'start',
  });
}

/** @throws CollError unless the return code in an answer is 0 */
export function requireSuccess(fields: ReadonlyMap<string, string>, answer: string): void {
  if ((fields.get('rc') ?? '0') !== '0') throw notOfProtocol(answer);
}

function lost(cause?: Error): UnavailableError {
  const message = `the launcher closed the connection to its PMI server${cause ? `: ${cause.message}` : ''}`;
  return new UnavailableError('ERR_COLL_STORE', message, { operation: 'start', cause });
}
