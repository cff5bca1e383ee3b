import { LineChart } from './chart.ts';
import { digitsPerRound, rounds, type StepReport, stepsPerRound, type Weights } from './course.ts';
import { find, make, percent, whole } from './elements.ts';
import type { RoundResult } from './replica.ts';
import { Training } from './training.ts';

type State = 'ready' | 'training' | 'pausing' | 'paused' | 'failed' | 'finished' | 'held';

const labels: Readonly<Record<State, string>> = {
  ready: 'Start',
  training: 'Pause',
  pausing: 'Pause',
  paused: 'Resume',
  failed: 'Continue',
  finished: 'Finished',
  held: 'Start',
};

/** The section with the training: its buttons, figures and curves. */
export class TrainingPanel {
  readonly #onRound: () => void;
  readonly #training: Training;
  readonly #loss = new LineChart(find('loss-chart'), {
    title: 'Training loss',
    maxX: rounds,
    maxY: 2.5,
    format: (y) => y.toFixed(2),
    unit: 'rounds',
  });
  readonly #accuracy = new LineChart(find('accuracy-chart'), {
    title: 'Accuracy on test digits',
    maxX: rounds,
    maxY: 1,
    format: percent,
    unit: 'rounds',
  });
  readonly #replicas = find<HTMLSelectElement>('replicas');
  readonly #run = find<HTMLButtonElement>('run');
  readonly #restart = find<HTMLButtonElement>('restart');
  readonly #endReplica = find<HTMLButtonElement>('end-replica');
  #state: State = 'ready';
  /** Pending while the training goes on. */
  #running: Promise<void> = Promise.resolve();

  /**
   * @param counts the numbers of replicas to choose from; the last one is chosen
   * @param onRound called after each round, and when the model is forgotten
   */
  constructor(counts: readonly number[], onRound: () => void) {
    this.#onRound = onRound;
    this.#replicas.append(...counts.map((count) => new Option(`${count}`)));
    this.#replicas.value = `${counts.at(-1)}`;
    this.#training = new Training(Number(this.#replicas.value), (report) => this.#showStep(report));
    this.#replicas.addEventListener('change', () => {
      this.#training.replicas = Number(this.#replicas.value);
      this.#show();
    });
    this.#run.addEventListener('click', () => {
      if (this.#state === 'training') void this.#pause();
      else this.#running = this.#train();
    });
    this.#restart.addEventListener('click', () => void this.#forget());
    this.#endReplica.addEventListener('click', () => this.#training.endReplica(this.#training.replicas - 1));
    this.#show();
  }

  get weights(): Weights | undefined {
    return this.#training.weights;
  }

  /** Pauses the training, and keeps it from being started until the work is done. */
  async hold(work: () => Promise<void>): Promise<void> {
    await this.#pause();
    const state = this.#state;
    this.#enter('held');
    try {
      await work();
    } finally {
      this.#enter(state);
    }
  }

  async #train(): Promise<void> {
    this.#showFailure(undefined);
    this.#enter('training');
    let begin = performance.now();
    try {
      await this.#training.run((result) => {
        const now = performance.now();
        this.#showRound(result, (1000 * digitsPerRound) / (now - begin));
        begin = now;
      });
      this.#enter(this.#training.round < rounds ? 'paused' : 'finished');
    } catch (error) {
      this.#showFailure(error);
      this.#enter('failed');
    }
  }

  async #pause(): Promise<void> {
    if (this.#state === 'training') this.#enter('pausing');
    this.#training.pause();
    await this.#running;
  }

  async #forget(): Promise<void> {
    await this.hold(() => this.#training.reset());
    this.#loss.clear();
    this.#accuracy.clear();
    this.#showFailure(undefined);
    this.#enter('ready');
    this.#onRound();
  }

  #enter(state: State): void {
    this.#state = state;
    this.#show();
  }

  #showStep({ step, loss }: StepReport): void {
    this.#loss.add(step / stepsPerRound, loss);
  }

  #showRound({ accuracy }: RoundResult, speed: number): void {
    this.#accuracy.add(this.#training.round, accuracy);
    find('speed').textContent = whole(speed);
    this.#show();
    this.#onRound();
  }

  #showFailure(error: unknown): void {
    const failure = find('failure');
    failure.hidden = error === undefined;
    if (error === undefined) return;
    // Errors of coll have a code. Their classes lose their names when the bundle is made small.
    const { code = 'Error', message } = error as { readonly code?: string; readonly message: string };
    failure.replaceChildren(make('strong', '', code), make('p', '', message));
  }

  #show(): void {
    const { round, replicas } = this.#training;
    const state = this.#state;
    this.#run.textContent = labels[state];
    this.#run.disabled = state === 'pausing' || state === 'finished' || state === 'held';
    this.#restart.disabled = state === 'ready' || state === 'held';
    this.#endReplica.disabled = state !== 'training';
    this.#endReplica.textContent = `End replica ${replicas - 1}`;
    find('round').textContent = `${round} of ${rounds}`;
    find('seen').textContent = whole(round * digitsPerRound);
    find('status').textContent = this.#statusText();
  }

  #statusText(): string {
    const { round, replicas } = this.#training;
    switch (this.#state) {
      case 'ready':
        return 'Ready. Choose how many replicas share the work.';
      case 'training':
        return `Training on ${replicas} ${replicas === 1 ? 'replica' : 'replicas'}.`;
      case 'pausing':
        return 'Pausing after this round.';
      case 'paused':
        return `Paused after round ${round}.`;
      case 'failed':
        return `Stopped. The page has kept the weights after round ${round}, and goes on from them in new workers.`;
      case 'finished':
        return `Finished after ${round} rounds.`;
      case 'held':
        return 'Waiting.';
    }
  }
}
