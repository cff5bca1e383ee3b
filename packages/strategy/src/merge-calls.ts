/** The merge calls that replica threads have come to and that have not been held yet, each replica's in their order. */
export class MergeCalls {
  readonly #waiting: readonly unknown[][];
  #isHeld = false;

  constructor(replicas: number) {
    this.#waiting = Array.from({ length: replicas }, () => []);
  }

  /** The replicas that wait in a merge call. */
  get replicas(): number[] {
    return [...this.#waiting.keys()].filter((replica) => (this.#waiting[replica] as unknown[]).length > 0);
  }

  add(replica: number, args: unknown): void {
    (this.#waiting[replica] as unknown[]).push(args);
  }

  /** Everybody's arguments of the next merge call, once all have come to it and the one before has been held. */
  next(): readonly unknown[] | undefined {
    if (this.#isHeld || this.replicas.length < this.#waiting.length) return undefined;
    this.#isHeld = true;
    return this.#waiting.map((calls) => calls.shift());
  }

  /** The merge call that `next` gave has been held. */
  end(): void {
    this.#isHeld = false;
  }
}
