/** A set of ranks for each rank, as bits in one typed array. */
export class RankSets {
  readonly #ranks: number;
  /** Number of words of a set. */
  readonly #words: number;
  readonly #bits: Int32Array;

  /** Makes `ranks` sets, all empty, of ranks below `ranks`. */
  constructor(ranks: number) {
    this.#ranks = ranks;
    this.#words = Math.ceil(ranks / 32);
    this.#bits = new Int32Array(ranks * this.#words);
  }

  clear(set: number): void {
    const bits = this.#bits;
    const end = (set + 1) * this.#words;
    for (let at = set * this.#words; at < end; at++) bits[at] = 0;
  }

  add(set: number, rank: number): void {
    (this.#bits[set * this.#words + (rank >> 5)] as number) |= 1 << (rank & 31);
  }

  /** Adds the members of `other` to `set`. */
  addAll(set: number, other: number): void {
    const bits = this.#bits;
    const words = this.#words;
    const to = set * words;
    const from = other * words;
    for (let at = 0; at < words; at++) bits[to + at] = (bits[to + at] as number) | (bits[from + at] as number);
  }

  isEmpty(set: number): boolean {
    const bits = this.#bits;
    const end = (set + 1) * this.#words;
    for (let at = set * this.#words; at < end; at++) if (bits[at] !== 0) return false;
    return true;
  }

  areEqual(one: number, other: number): boolean {
    const bits = this.#bits;
    const words = this.#words;
    const a = one * words;
    const b = other * words;
    for (let at = 0; at < words; at++) if (bits[a + at] !== bits[b + at]) return false;
    return true;
  }

  /** Whether the sets have a member in common. */
  overlap(one: number, other: number): boolean {
    const bits = this.#bits;
    const words = this.#words;
    const a = one * words;
    const b = other * words;
    for (let at = 0; at < words; at++) if (((bits[a + at] as number) & (bits[b + at] as number)) !== 0) return true;
    return false;
  }

  /** Whether the set has all ranks. */
  isWhole(set: number): boolean {
    const begin = set * this.#words;
    const last = this.#words - 1;
    for (let at = 0; at < last; at++) if (this.#bits[begin + at] !== -1) return false;
    return this.#bits[begin + last] === ((-1 >>> (32 * this.#words - this.#ranks)) | 0);
  }

  /** The members that two sets have in common, in ascending order. */
  common(one: number, other: number): number[] {
    return this.#filter((rank) => this.#has(one, rank) && this.#has(other, rank));
  }

  /** The ranks that are not in the set, in ascending order. */
  missing(set: number): number[] {
    return this.#filter((rank) => !this.#has(set, rank));
  }

  #has(set: number, rank: number): boolean {
    return (((this.#bits[set * this.#words + (rank >> 5)] as number) >> (rank & 31)) & 1) === 1;
  }

  #filter(isMember: (rank: number) => boolean): number[] {
    return Array.from({ length: this.#ranks }, (_, rank) => rank).filter(isMember);
  }
}
