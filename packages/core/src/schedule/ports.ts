/** The times of messages over links of one kind. */
export interface LinkTimes {
  /** Latency of a message in seconds, independent of its length. */
  readonly alpha: number;
  /** Seconds per byte at a port. A port sends and receives at the same time. */
  readonly beta: number;
  /**
   * Seconds that each message occupies the ports of both ends, in addition to the time for its
   * bytes. Default: 0.
   */
  readonly overhead?: number | undefined;
}

/** The load, in the current round, of all ports of one kind of link. */
export class Ports {
  readonly #times: LinkTimes;
  readonly #sent: PortLoad;
  readonly #received: PortLoad;
  #isIdle = true;

  constructor(count: number, times: LinkTimes) {
    this.#times = times;
    this.#sent = new PortLoad(count);
    this.#received = new PortLoad(count);
  }

  send(from: number, to: number, bytes: number, messages: number): void {
    this.#isIdle = false;
    this.#sent.add(from, bytes, messages);
    this.#received.add(to, bytes, messages);
  }

  /**
   * Returns the seconds until the last message of the round has arrived, and starts the next round.
   */
  endRound(): number {
    if (this.#isIdle) return 0;
    this.#isIdle = true;
    const { alpha } = this.#times;
    return alpha + Math.max(this.#sent.empty(this.#times), this.#received.empty(this.#times));
  }
}

/** The load of all ports in one direction. Only the ports in use cost time. */
export class PortLoad {
  readonly #bytes: Float64Array;
  readonly #messages: Float64Array;
  readonly #inUse: Uint32Array;
  #count = 0;

  constructor(ports: number) {
    this.#bytes = new Float64Array(ports);
    this.#messages = new Float64Array(ports);
    this.#inUse = new Uint32Array(ports);
  }

  /** Adds to the load of a port. The first addition of a round has a message. */
  add(port: number, bytes: number, messages: number): void {
    if (this.#messages[port] === 0) this.#inUse[this.#count++] = port;
    (this.#bytes[port] as number) += bytes;
    (this.#messages[port] as number) += messages;
  }

  /** Returns the seconds of the busiest port, and resets the load of all ports. */
  empty({ beta, overhead = 0 }: LinkTimes): number {
    let longest = 0;
    for (let index = 0; index < this.#count; index++) {
      const port = this.#inUse[index] as number;
      const seconds = beta * (this.#bytes[port] as number) + overhead * (this.#messages[port] as number);
      if (seconds > longest) longest = seconds;
      this.#bytes[port] = 0;
      this.#messages[port] = 0;
    }
    this.#count = 0;
    return longest;
  }
}
