import { decodeError, type Reply } from './rank-messages.js';

/** Where a rank lives: a thread or a process that answers what it is asked. */
export interface RankHost {
  /** For messages: `thread`, `process`. */
  readonly kind: string;
  post(message: unknown): void;
  listen(onReply: (reply: Reply) => void, onEnd: (error: Error) => void): void;
  /** Whether it keeps the process alive. */
  hold(isHeld: boolean): void;
  /** Ends it in the middle of whatever it does. */
  terminate(): Promise<unknown>;
}

// Longer than any deadline of a suite's call: who is busy after this has lost his way.
const patienceMillis = 240_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/** The near end of a rank. It keeps the process alive only while something was asked for. */
export class RankClient<Request extends { readonly type: string }> {
  readonly #host: RankHost;
  readonly #waiting = new Map<number, Waiting>();
  #tickets = 0;
  #hasEnded = false;

  constructor(host: RankHost) {
    this.#host = host;
    host.hold(false);
    host.listen(
      (reply) => this.#settle(reply),
      (error) => this.#end(error),
    );
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Posts a request; the answer is what the far end says it is. @throws the error of the far end */
  async request<Answer>(request: Request): Promise<Answer> {
    const host = this.#host;
    if (this.#hasEnded) throw new Error(`the ${host.kind} has ended`);
    const ticket = this.#tickets++;
    host.hold(true);
    const busy = new Error(`the ${host.kind} is still busy with ${request.type} after ${patienceMillis / 1000} s`);
    const timer = setTimeout(() => this.#end(busy), patienceMillis);
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiting.set(ticket, { resolve: resolve as Waiting['resolve'], reject });
        host.post({ ticket, request });
      });
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(ticket);
      if (this.#waiting.size === 0) host.hold(false);
    }
  }

  /** Ends it in the middle of whatever it does. */
  async terminate(): Promise<void> {
    this.#end(new Error(`the ${this.#host.kind} was terminated`));
    await this.#host.terminate();
  }

  #settle({ ticket, answer, error }: Reply): void {
    const waiting = this.#waiting.get(ticket);
    if (error) waiting?.reject(decodeError(error));
    else waiting?.resolve(answer);
  }

  #end(error: Error): void {
    this.#hasEnded = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    void this.#host.terminate();
  }
}
