import { fileURLToPath } from 'node:url';
import type { Effort, Measurement } from '../measurement.js';
import { programLine } from '../peers/build.js';
import { commandsOf } from '../peers/commands.js';
import type { PeerName } from '../peers/peers.js';
import { runCommands } from '../peers/run-commands.js';
import { meanOf } from '../statistics.js';
import { WrongResultError } from '../subjects/subject.js';
import { describeTrial, type Trial } from '../trial.js';
import type { MpiOrder } from './rank-mpi.js';
import type { Venue } from './venue.js';

/** The line that a peer's program prints for each trial. */
interface PeerLine {
  readonly ok: boolean;
  readonly samples: readonly number[];
}

/** Makes the command line that measures trials. Rank 0 prints a line for each. */
export type ProgramFor = (trials: readonly Trial[], effort: Effort) => string[];

const entry = fileURLToPath(new URL('./rank-mpi.ts', import.meta.url));

/** A rank of an MPI job that calls @coll/mpi. */
export const mpiRankProgram: ProgramFor = (trials, effort) => {
  const order: MpiOrder = { trials, effort };
  return [process.execPath, ...process.execArgv, entry, JSON.stringify(order)];
};

function peerProgram(peer: PeerName | 'bound'): ProgramFor {
  return (trials, { warmupMillis, sampleMillis, minSamples, maxSamples }) => [
    ...programLine(peer),
    ...[warmupMillis, sampleMillis, minSamples, maxSamples].map(String),
    ...trials.map(({ input, place, counts, first }) =>
      [input, place, counts.join(), ...(first === undefined ? [] : [first])].join(':'),
    ),
  ];
}

/** Another library's all-reduce, or the memory's own speed, in processes of its own, started anew for each turn, because idle ranks of MPI spin. */
export class PeerProcesses implements Venue {
  readonly #peer: PeerName | 'bound';
  readonly #ranks: number;
  readonly #silenceSeconds: number;

  readonly #programFor: ProgramFor;

  /**
   * A program that prints no figure for `silenceSeconds` counts as hung. Default of `programFor`: the
   * peer's own program.
   */
  constructor(peer: PeerName | 'bound', ranks: number, silenceSeconds: number, programFor = peerProgram(peer)) {
    this.#programFor = programFor;
    this.#peer = peer;
    this.#ranks = ranks;
    this.#silenceSeconds = silenceSeconds;
  }

  async measure(trials: readonly Trial[], effort: Effort): Promise<Measurement[]> {
    const commands = commandsOf(this.#peer, this.#ranks, this.#programFor(trials, effort));
    const { text, isHung } = await runCommands(this.#peer, commands, this.#silenceSeconds);
    // The last line may be incomplete.
    const lines = text
      .split('\n')
      .slice(0, -1)
      .filter((line) => line.startsWith('{'));
    if (lines.length !== trials.length && !isHung)
      throw new Error(`${this.#peer} measured ${lines.length} of ${trials.length} trials:\n${text}`);
    return trials.map((trial, index) => {
      const line = lines[index];
      if (line === undefined) return { samples: new Float64Array(), failure: this.#failureOf(index - lines.length) };
      const { ok, samples } = JSON.parse(line) as PeerLine;
      if (!ok) throw new WrongResultError(`${describeTrial(trial)}: wrong result`);
      return { samples: Float64Array.from(samples), meanMicros: meanOf(samples) };
    });
  }

  /** The failure of a case. `later`: how many cases it comes after the one that hung. */
  #failureOf(later: number): string {
    return later === 0
      ? `${this.#peer} hung: no figure for ${this.#silenceSeconds} s`
      : `not measured: ${this.#peer} hung in an earlier case`;
  }

  async close(): Promise<void> {}
}
