import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial, VenueName } from '../trial.js';
import type { Venue } from '../venues/venue.js';
import type { FromSeries, SeriesOrder, SeriesStart } from './series-process.js';

/**
 * One series of figures of one build: a process that loads the benchmark program of that build,
 * and opens venues in it. A second series of the same build differs from the first one only by
 * chance, such as what V8 compiled when, or which memory the process got.
 */
export class Series {
  readonly #name: string;
  readonly #child: ChildProcess;
  #hasEnded = false;

  /**
   * @param name for error messages, such as `this build`
   * @param programFolder the compiled benchmark program of a build
   */
  constructor(name: string, programFolder: string, start: SeriesStart) {
    this.#name = name;
    const entry = path.join(programFolder, 'against/series-process.js');
    // Stdout belongs to the figures of all series.
    this.#child = fork(entry, [JSON.stringify(start)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#child.once('exit', () => {
      this.#hasEnded = true;
    });
  }

  venue(name: VenueName): Venue {
    return {
      measure: (trials, effort) => this.#ask({ venue: name, trials, effort }),
      close: () => Promise.resolve(),
    };
  }

  /** Ends the process with its threads and processes. */
  async close(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = new Promise((resolve) => {
      this.#child.once('exit', resolve);
    });
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }

  #ask(order: { venue: VenueName; trials: readonly Trial[]; effort: Effort }): Promise<Measurement[]> {
    return new Promise((resolve, reject) => {
      const whenEnded = (code: number | null, signal: string | null) =>
        reject(
          new Error(`the process of ${this.#name} ended with ${signal ?? `exit code ${code}`}; its output is above`),
        );
      if (this.#hasEnded) {
        whenEnded(this.#child.exitCode, this.#child.signalCode);
        return;
      }
      this.#child.once('exit', whenEnded);
      this.#child.once('message', (message: FromSeries) => {
        this.#child.off('exit', whenEnded);
        if (Array.isArray(message)) resolve(message);
        else reject(new Error(`${this.#name}: ${message.error}`));
      });
      this.#child.send(order satisfies SeriesOrder);
    });
  }
}
