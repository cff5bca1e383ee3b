/** A one-time event that can be awaited. */
export class Latch {
  readonly #opened: Promise<true>;
  open: () => void = () => {};

  constructor() {
    this.#opened = new Promise((resolve) => {
      this.open = () => resolve(true);
    });
  }

  /** Whether the event happens within `withinMillis` milliseconds. */
  async opens(withinMillis: number): Promise<boolean> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const tooLate = new Promise<false>((resolve) => {
      timer = setTimeout(() => resolve(false), withinMillis);
    });
    const isOpen = await Promise.race([this.#opened, tooLate]);
    clearTimeout(timer);
    return isOpen;
  }
}
