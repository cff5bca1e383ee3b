import { Presets, SingleBar } from 'cli-progress';

export interface Course {
  readonly epochs: number;
  readonly stepsPerEpoch: number;
  readonly batchSize: number;
}

/** Shows the progress of a training: as a bar in a terminal, else as one line per epoch. */
export class Progress {
  readonly #course: Course;
  readonly #stream: NodeJS.WriteStream;
  readonly #bar: SingleBar | undefined;
  #begin: number | undefined;
  #steps = 0;
  #losses: number[] = [];

  constructor(course: Course, stream: NodeJS.WriteStream) {
    this.#course = course;
    this.#stream = stream;
    if (!stream.isTTY) return;
    const format = 'epoch {epoch} {bar} {percentage} % · loss {loss} · {rate} samples/s · {eta_formatted} left';
    this.#bar = new SingleBar({ stream, format, barsize: 20, hideCursor: true, etaBuffer: 50 }, Presets.shades_classic);
    const first = { epoch: `1/${course.epochs}`, loss: '-', rate: '-' };
    this.#bar.start(course.epochs * course.stepsPerEpoch, 0, first);
  }

  /** All replicas have done one step. */
  add(loss: number): void {
    const { epochs, stepsPerEpoch } = this.#course;
    this.#begin ??= performance.now();
    this.#losses.push(loss);
    this.#steps += 1;
    const step = this.#steps;
    const epoch = Math.ceil(step / stepsPerEpoch);
    const shown = { epoch: `${epoch}/${epochs}`, loss: this.#meanLoss().toFixed(3), rate: this.#rate(step) };
    this.#bar?.update(step, shown);
    if (step % stepsPerEpoch !== 0) return;
    if (!this.#bar) this.#stream.write(`epoch ${shown.epoch} · loss ${shown.loss} · ${shown.rate} samples/s\n`);
    this.#losses = [];
  }

  /** Leaves the terminal as it was found. */
  stop(): void {
    this.#bar?.stop();
  }

  #meanLoss(): number {
    return this.#losses.reduce((sum, loss) => sum + loss, 0) / this.#losses.length;
  }

  // The measurement begins at the end of the first step, because the first step includes the start-up.
  #rate(step: number): string {
    if (step === 1) return '-';
    const seconds = (performance.now() - (this.#begin as number)) / 1000;
    return Math.round(((step - 1) * this.#course.batchSize) / seconds).toLocaleString('en');
  }
}
