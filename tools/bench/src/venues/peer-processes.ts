import type { Effort, Measurement } from '../measurement.js';
import { binaryOf } from '../peers/build.js';
import { commandsOf } from '../peers/commands.js';
import type { PeerName } from '../peers/peers.js';
import { runCommands } from '../peers/run-commands.js';
import { WrongResultError } from '../subjects/subject.js';
import { describeTrial, type Trial } from '../trial.js';
import type { Venue } from './venue.js';

/** What a peer's program prints for each trial. */
interface PeerLine {
  readonly ok: boolean;
  readonly samples: readonly number[];
}

/** Another library's all-reduce, or the memory's own speed, in processes of its own, started anew for each turn, because idle ranks of MPI spin. */
export class PeerProcesses implements Venue {
  readonly #peer: PeerName | 'bound';
  readonly #ranks: number;

  constructor(peer: PeerName | 'bound', ranks: number) {
    this.#peer = peer;
    this.#ranks = ranks;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const { warmupMillis, sampleMillis, minSamples, maxSamples } = effort;
    const jobs = trials.map(({ input, place, counts }) => `${input}:${place}:${counts.join()}`);
    const program = [
      binaryOf(this.#peer),
      ...[warmupMillis, sampleMillis, minSamples, maxSamples].map(String),
      ...jobs,
    ];
    const output = await runCommands(this.#peer, commandsOf(this.#peer, this.#ranks, program));
    const lines = output.split('\n').filter((line) => line.startsWith('{'));
    if (lines.length !== trials.length)
      throw new Error(`${this.#peer} measured ${lines.length} of ${trials.length} trials:\n${output}`);
    return trials.map((trial, index) => {
      const { ok, samples } = JSON.parse(lines[index] as string) as PeerLine;
      if (!ok) throw new WrongResultError(`${describeTrial(trial)}: wrong result`);
      return { samples: Float64Array.from(samples) };
    });
  }

  async close(): Promise<void> {}
}
