/** The pending merge calls of each replica in a thread, in the order in which the replica made them. */
export class MergeCalls {
  readonly #waiting: readonly unknown[][];
  #isHeld = false;
  #begun = 0;

  constructor(replicas: number) {
    this.#waiting = Array.from({ length: replicas }, () => []);
  }

  /** The replicas that wait in a merge call. */
  get replicas(): number[] {
    return [...this.#waiting.keys()].filter((replica) => (this.#waiting[replica] as unknown[]).length > 0);
  }

  /** Number of merge calls for which all replicas have arrived. */
  get begun(): number {
    return this.#begun;
  }

  add(replica: number, args: unknown): void {
    (this.#waiting[replica] as unknown[]).push(args);
  }

  /**
   * The arguments of all replicas for the next merge call; undefined until all replicas have
   * arrived and the previous merge call has ended.
   */
  next(): readonly unknown[] | undefined {
    if (this.#isHeld || this.replicas.length < this.#waiting.length) return undefined;
    this.#isHeld = true;
    this.#begun += 1;
    return this.#waiting.map((calls) => calls.shift());
  }

  /** Records that the merge call returned by `next` has ended. */
  end(): void {
    this.#isHeld = false;
  }
}
