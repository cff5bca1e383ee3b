import { type ChildProcess, fork } from 'node:child_process';
import path from 'node:path';
import { ask } from '../ask.js';
import type { Effort, Measurement } from '../measurement.js';
import type { Trial, VenueName } from '../trial.js';
import type { Venue } from '../venues/venue.js';

export interface SeriesStart {
  readonly ranks: number;
  /** How long a process of a venue may print no figure before it counts as hung and is killed. */
  readonly silenceSeconds: number;
}

export interface SeriesOrder {
  readonly venue: VenueName;
  readonly trials: readonly Trial[];
  readonly effort: Effort;
}

/**
 * One series of figures of one build: a process that loads the benchmark program of that build,
 * and opens venues in it. A second series of the same build differs from the first one only by
 * chance, such as what V8 compiled when, or which memory the process got.
 */
export class Series {
  readonly #name: string;
  readonly #child: ChildProcess;

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
  }

  venue(name: VenueName): Venue {
    return {
      measure: (trials, effort) => {
        const order: SeriesOrder = { venue: name, trials, effort };
        return ask<Measurement[]>(this.#child, this.#name, order);
      },
      close: () => Promise.resolve(),
    };
  }

  /** Ends the process with its threads and processes. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => {
      this.#child.once('exit', resolve);
    });
    if (this.#child.connected) this.#child.disconnect();
    await ended;
  }
}
