import { MirroredStrategy } from '@coll/strategy';
import { rounds, type StepReport, type Weights } from './course.ts';
import type { RoundResult } from './replica.ts';
import moduleOfReplicas from './replica.ts?worker&url';

export const replicaUrl = new URL(moduleOfReplicas, location.href);

/** A strategy with a worker for each replica. */
export function strategyOf(replicas: number): MirroredStrategy {
  return new MirroredStrategy({ devices: Array.from({ length: replicas }, (_, id) => `cpu:${id}`) });
}

const none = -1;

/** The training of one model, round by round. */
export class Training {
  /** May change at any time: the next round has as many. */
  replicas: number;
  readonly #onStep: (report: StepReport) => void;
  readonly #ending = new Int32Array(new SharedArrayBuffer(4)).fill(none);
  #strategy: MirroredStrategy | undefined;
  #round = 0;
  #weights: Weights | undefined;
  #isPausing = false;

  constructor(replicas: number, onStep: (report: StepReport) => void) {
    this.replicas = replicas;
    this.#onStep = onStep;
  }

  /** The number of complete rounds. */
  get round(): number {
    return this.#round;
  }

  /** The weights after the last complete round. */
  get weights(): Weights | undefined {
    return this.#weights;
  }

  /**
   * Trains until the last round or a pause.
   * @throws the error of a replica. The training may go on: the next round starts new workers.
   */
  async run(onRound: (result: RoundResult) => void): Promise<void> {
    this.#isPausing = false;
    try {
      while (!this.#isPausing && this.#round < rounds) onRound(await this.#trainRound());
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  /** Ends `run` after the present round. */
  pause(): void {
    this.#isPausing = true;
  }

  /** Ends the worker of a replica after its present step. */
  endReplica(id: number): void {
    Atomics.store(this.#ending, 0, id);
  }

  /** Forgets what was learned. Not while `run` goes on. */
  async reset(): Promise<void> {
    await this.#close();
    this.#round = 0;
    this.#weights = undefined;
  }

  async #close(): Promise<void> {
    await this.#strategy?.close();
    this.#strategy = undefined;
    Atomics.store(this.#ending, 0, none);
  }

  async #trainRound(): Promise<RoundResult> {
    if (this.#strategy?.numReplicasInSync !== this.replicas) {
      await this.#close();
      this.#strategy = strategyOf(this.replicas);
    }
    const results = await this.#strategy.run<typeof import('./replica.ts')>(replicaUrl, {
      args: [{ round: this.#round, weights: this.#weights, ending: this.#ending }],
      onReport: (_, report) => this.#onStep(report as StepReport),
    });
    const result = this.#strategy.experimentalLocalResults(results)[0] as RoundResult;
    this.#weights = result.weights;
    this.#round += 1;
    return result;
  }
}
