import { fileURLToPath } from 'node:url';
import { Series } from '../against/series.js';
import type { Effort, Measurement } from '../measurement.js';
import { meanOf } from '../statistics.js';
import type { FreshVenueName, Trial, VenueName } from '../trial.js';
import type { Venue } from './venue.js';

const programFolder = fileURLToPath(new URL('..', import.meta.url));

/** A venue that is opened for each sample, in a process that is started for it, so that V8 has compiled no call. */
export class FreshProcesses implements Venue {
  readonly #venue: VenueName;
  readonly #ranks: number;
  readonly #silenceSeconds: number;

  constructor(name: FreshVenueName, ranks: number, silenceSeconds: number) {
    this.#venue = name.slice('fresh-'.length) as VenueName;
    this.#ranks = ranks;
    this.#silenceSeconds = silenceSeconds;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const measurements: Measurement[] = [];
    for (const trial of trials) {
      const samples = [];
      for (let sample = 0; sample < effort.minSamples; sample++) samples.push(await this.#sample(trial, effort));
      measurements.push({ samples: Float64Array.from(samples), meanMicros: meanOf(samples) });
    }
    return measurements;
  }

  async close(): Promise<void> {}

  async #sample(trial: Trial, effort: Effort): Promise<number> {
    const [ranks, silenceSeconds] = [this.#ranks, this.#silenceSeconds];
    const series = new Series('a fresh process', programFolder, { ranks, silenceSeconds });
    try {
      const [measured] = await series.venue(this.#venue).measure([trial], effort);
      return (measured as Measurement).samples[0] as number;
    } finally {
      await series.close();
    }
  }
}
