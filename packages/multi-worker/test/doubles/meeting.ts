/**
 * Where the calls of several ranks in one thread meet: the n-th call of each rank belongs to the n-th meeting, which is held once
 * all are there, by one of them for all. Meetings are held one after the other.
 */
export class Meeting<Input, Output> {
  readonly #size: number;
  readonly #hold: (inputs: readonly Input[]) => Promise<readonly Output[]>;
  readonly #waiting: Attendance<Input, Output>[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(size: number, hold: (inputs: readonly Input[]) => Promise<readonly Output[]>) {
    this.#size = size;
    this.#hold = hold;
  }

  /** Comes to the next meeting that this rank has not come to; the result is the rank's part of the outcome. */
  join(rank: number, input: Input): Promise<Output> {
    let attendance = this.#waiting.find(({ inputs }) => !inputs.has(rank));
    if (!attendance) {
      attendance = { inputs: new Map(), settle: new Map() };
      this.#waiting.push(attendance);
    }
    const { inputs, settle } = attendance;
    inputs.set(rank, input);
    const outcome = new Promise<Output>((resolve, reject) => {
      settle.set(rank, { resolve, reject });
    });
    if (inputs.size === this.#size) this.#begin(attendance);
    return outcome;
  }

  /** Who has not come to the next meeting. */
  missing(): number[] {
    const [next] = this.#waiting;
    return Array.from({ length: this.#size }, (_, rank) => rank).filter((rank) => !next?.inputs.has(rank));
  }

  /** Ends all meetings that are still waiting for somebody. */
  fail(error: unknown): void {
    for (const { settle } of this.#waiting.splice(0)) {
      for (const { reject } of settle.values()) reject(error);
    }
  }

  #begin(attendance: Attendance<Input, Output>): void {
    this.#waiting.splice(this.#waiting.indexOf(attendance), 1);
    const { inputs, settle } = attendance;
    const ranks = [...settle.keys()].sort((a, b) => a - b);
    const held = this.#last.then(() => this.#hold(ranks.map((rank) => inputs.get(rank) as Input)));
    this.#last = held.then(
      (outputs) => {
        for (const rank of ranks) settle.get(rank)?.resolve(outputs[rank] as Output);
      },
      (error: unknown) => {
        for (const rank of ranks) settle.get(rank)?.reject(error);
      },
    );
  }
}

interface Attendance<Input, Output> {
  readonly inputs: Map<number, Input>;
  readonly settle: Map<number, { resolve(output: Output): void; reject(error: unknown): void }>;
}
