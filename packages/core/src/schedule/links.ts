/** A directed link between two ranks, and the bytes that it carries in total. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

// Groups of up to this many ranks use a table of all pairs of ranks. Pages of the table that are
// never written take no memory; a Map with as many links would take gigabytes.
const mostRanksInTable = 4096;

/** The data on each link in the rounds of a schedule. */
export class Links {
  readonly #ranks: number;
  readonly #bytes: Float64Array | number[];
  /** For each link, one more than the last round that used it. */
  readonly #lastUse: Uint32Array | number[];
  #busiest: Link | undefined;

  constructor(ranks: number) {
    this.#ranks = ranks;
    const hasTable = ranks <= mostRanksInTable;
    this.#bytes = hasTable ? new Float64Array(ranks * ranks) : [];
    this.#lastUse = hasTable ? new Uint32Array(ranks * ranks) : [];
  }

  get busiest(): Link | undefined {
    return this.#busiest;
  }

  /** Records a message. Returns whether it is the first on its link in this round. */
  send(from: number, to: number, bytes: number, round: number): boolean {
    const link = from * this.#ranks + to;
    const total = (this.#bytes[link] ?? 0) + bytes;
    this.#bytes[link] = total;
    if (!this.#busiest || total > this.#busiest.bytes) this.#busiest = { from, to, bytes: total };
    const isFirst = this.#lastUse[link] !== round + 1;
    if (isFirst) this.#lastUse[link] = round + 1;
    return isFirst;
  }
}
