/** Calls one after the other, in the order in which they were made. What goes wrong with one is no concern of the next. */
export class OneByOne {
  #latest: Promise<unknown> | undefined;

  /** The latest of the calls under way; undefined where there are none. */
  get latest(): Promise<unknown> | undefined {
    return this.#latest;
  }

  /** Begins a call when those before it have ended; at once where there are none. */
  run<Result>(call: () => Promise<Result>): Promise<Result> {
    const before = this.#latest;
    return this.follow(before ? before.then(call, call) : call());
  }

  /** Makes a call that has begun, or waits by itself for those before it, the latest one. */
  follow<Result>(call: Promise<Result>): Promise<Result> {
    this.#latest = call;
    const leave = () => this.#leave(call);
    call.then(leave, leave);
    return call;
  }

  /** A call that begins after those before it, and goes on for as long as its maker likes. */
  takeTurn(): { readonly begun: Promise<void>; end(): void } {
    const before = this.#latest;
    let giveUp = () => {};
    const mine = new Promise<void>((resolve) => {
      giveUp = resolve;
    });
    this.#latest = mine;
    const end = () => {
      this.#leave(mine);
      giveUp();
    };
    return { begun: before ? before.then(nothing, nothing) : Promise.resolve(), end };
  }

  #leave(call: Promise<unknown>): void {
    if (this.#latest === call) this.#latest = undefined;
  }
}

function nothing(): void {}
