import { decodeError, type Reply } from './rank-messages.js';

/** The thread or process in which a rank lives; it replies to requests. */
export interface RankHost {
  /** The word for the host in messages: `thread` or `process`. */
  readonly kind: string;
  post(message: unknown): void;
  listen(onReply: (reply: Reply) => void, onEnd: (error: Error) => void): void;
  /** Sets whether the host (the thread or process of a rank) keeps this process alive. */
  hold(isHeld: boolean): void;
  /** Ends the host at once, even if it is busy or blocked. */
  terminate(): Promise<unknown>;
}

// Longer than the deadline of any call of a suite, so a host that has not answered by then hangs.
const patienceMillis = 240_000;

interface Waiting {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/**
 * Sends requests to a rank's host, which keeps this process alive only while requests are pending.
 */
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

  /**
   * Posts a request and returns the answer, whose type depends on the request.
   * @throws the error of the host
   */
  async request<Answer>(request: Request): Promise<Answer> {
    const host = this.#host;
    if (this.#hasEnded) throw new Error(`the ${host.kind} has ended, see its output`);
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

  /** Ends the host at once and rejects pending requests. */
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
