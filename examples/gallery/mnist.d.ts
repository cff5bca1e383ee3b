declare module 'mnist' {
  /** One handwritten digit: 784 pixels from 0 to 1, and a 1 at the position of the digit. */
  interface Sample {
    readonly input: number[];
    readonly output: number[];
  }
  /** For each digit, its samples from number `first` to number `last`. */
  const mnist: readonly { set(first: number, last: number): Sample[] }[];
  export = mnist;
}
