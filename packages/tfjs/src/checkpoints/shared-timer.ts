import type { Tensor } from '@coll/core';
import type { ReplicaContext } from '@coll/strategy';

/**
 * Tells all replicas in the same step that time is over, by the clock of replica 0. Asks replica 0
 * only after 1, 2, 4, … steps, and when the time should be over by the speed so far.
 */
export class SharedTimer {
  readonly #seconds: number;
  readonly #context: Pick<ReplicaContext, 'replicaIdInSyncGroup' | 'broadcast'>;
  #begin = performance.now();
  #steps = 0;
  #nextQuestion = 1;

  constructor(seconds: number, context: Pick<ReplicaContext, 'replicaIdInSyncGroup' | 'broadcast'>) {
    this.#seconds = seconds;
    this.#context = context;
  }

  restart(): void {
    this.#begin = performance.now();
    this.#steps = 0;
    this.#nextQuestion = 1;
  }

  /** Whether time is over. All replicas call this function after each step. */
  async isOver(): Promise<boolean> {
    this.#steps += 1;
    if (this.#steps < this.#nextQuestion) return false;
    const elapsed = (performance.now() - this.#begin) / 1000;
    const left = this.#seconds - elapsed;
    const more = Math.max(1, Math.min(this.#steps, Math.floor((left * this.#steps) / elapsed)));
    const answer = Float64Array.of(left > 0 ? more : 0);
    const { data } = (await this.#context.broadcast(answer)) as Tensor;
    const stepsToGo = Number(data[0]);
    this.#nextQuestion = this.#steps + stepsToGo;
    return stepsToGo === 0;
  }
}
