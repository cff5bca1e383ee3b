/** A directed link between two ranks, and the bytes that it carries in total. */
export interface Link {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

// Groups of up to this many ranks use a table of all pairs of ranks. Pages of the table that are
// never written take no memory; a Map with as many links would take gigabytes. Larger groups must
// use few of their links.
const mostRanksInTable = 4096;

/** Numbers by link. */
interface LinkTable {
  get(link: number): number | undefined;
  set(link: number, value: number): unknown;
}

/** A table of all pairs of ranks, with zeros where nothing was set. */
class PairTable implements LinkTable {
  readonly #values: Float64Array | Uint32Array;

  constructor(values: Float64Array | Uint32Array) {
    this.#values = values;
  }

  get(link: number): number | undefined {
    return this.#values[link];
  }

  set(link: number, value: number): void {
    this.#values[link] = value;
  }
}

/** The data on each link in the rounds of a schedule. */
export class Links {
  readonly #ranks: number;
  readonly #bytes: LinkTable;
  /** For each link, one more than the last round that used it. */
  readonly #lastUse: LinkTable;
  #busiest: Link | undefined;

  constructor(ranks: number) {
    this.#ranks = ranks;
    const hasTable = ranks <= mostRanksInTable;
    this.#bytes = hasTable ? new PairTable(new Float64Array(ranks * ranks)) : new Map();
    this.#lastUse = hasTable ? new PairTable(new Uint32Array(ranks * ranks)) : new Map();
  }

  get busiest(): Link | undefined {
    return this.#busiest;
  }

  /** Records a message. Returns whether it is the first on its link in this round. */
  send(from: number, to: number, bytes: number, round: number): boolean {
    const link = from * this.#ranks + to;
    const total = (this.#bytes.get(link) ?? 0) + bytes;
    this.#bytes.set(link, total);
    if (!this.#busiest || total > this.#busiest.bytes) this.#busiest = { from, to, bytes: total };
    const isFirst = this.#lastUse.get(link) !== round + 1;
    if (isFirst) this.#lastUse.set(link, round + 1);
    return isFirst;
  }
}
