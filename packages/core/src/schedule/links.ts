/** A directed link and its total data. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

// Up to this many ranks, a table of all pairs is used. Untouched parts cost nothing, and a Map of
// as many links takes gigabytes.
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

  /** Records a message. True if it is the first on its link in this round. */
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
