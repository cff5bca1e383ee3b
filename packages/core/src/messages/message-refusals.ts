import { failureError } from '../collectives/failures.js';
import { refusalFailure } from '../collectives/refusals.js';
import { CollError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import type { MessageId } from './postbox.js';

/**
 * The messages that one rank has refused to send or to receive, before it posted anything. Such a
 * message keeps its number, so later messages are not taken for it. If the other rank posts a step of
 * it, only one of the two has refused it, and the group fails.
 */
export class MessageRefusals {
  readonly #rank: number;
  readonly #errors = new Map<string, unknown>();

  constructor(rank: number) {
    this.#rank = rank;
  }

  add(id: MessageId, error: unknown): void {
    this.#errors.set(keyOf(id), error);
  }

  /** Forgets the refused messages before one that both ranks have completed: both have refused them. */
  completed({ from, to, number }: MessageId): void {
    if (this.#errors.size === 0) return;
    for (let before = number - 1; this.#errors.delete(keyOf({ from, to, number: before })); before--);
  }

  /** The failure of the group if the other rank waits for this message, which this rank has refused; otherwise undefined. */
  failureFor(id: MessageId): CollError | undefined {
    if (this.#errors.size === 0 || !this.#errors.has(keyOf(id))) return undefined;
    const error = this.#errors.get(keyOf(id));
    const code = error instanceof CollError ? error.code : undefined;
    const operation = operationOf(id, this.#rank);
    return failureError(refusalFailure(this.#rank, code, { message: messageOf(error) }), { operation, cause: error });
  }
}

export function keyOf({ from, to, number }: MessageId): string {
  return `${from}/${to}/${number}`;
}

/** The call of a rank for a message. */
export function operationOf({ from, to }: MessageId, rank: number): string {
  return from === rank ? `send to rank ${to}` : `receive from rank ${from}`;
}
