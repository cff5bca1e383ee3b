import { find, make, whole } from './elements.ts';
import { speedOf, speedOfBaseline } from './speed.ts';

interface Bar {
  readonly name: string;
  /** Digits per second. */
  readonly speed: number;
}

/** The section with the speeds of several numbers of replicas, and of TensorFlow.js alone. */
export class SpeedPanel {
  readonly #counts: readonly number[];
  readonly #measure = find<HTMLButtonElement>('measure');
  #bars: readonly Bar[] = [];

  /** @param hold does the measuring while nothing else uses the cores */
  constructor(counts: readonly number[], hold: (work: () => Promise<void>) => Promise<void>) {
    this.#counts = counts;
    this.#measure.addEventListener('click', () => {
      this.#measure.disabled = true;
      void hold(() => this.#measureAll()).finally(() => {
        this.#measure.disabled = false;
      });
    });
  }

  async #measureAll(): Promise<void> {
    this.#bars = [];
    this.#show();
    try {
      for (const count of this.#counts) {
        const name = count === 1 ? '1 replica' : `${count} replicas`;
        this.#say(`Measuring ${name} …`);
        this.#add({ name, speed: await speedOf(count) });
      }
      this.#say('Measuring TensorFlow.js alone …');
      const { speed, threads } = await speedOfBaseline();
      this.#add({ name: `TensorFlow.js alone, ${threads} ${threads === 1 ? 'thread' : 'threads'}`, speed });
      this.#say('Digits per second, on this machine, now.');
    } catch (error) {
      this.#say(`The measurement has failed: ${error instanceof Error ? error.message : error}`);
    }
  }

  #say(text: string): void {
    find('measuring').textContent = text;
  }

  #add(bar: Bar): void {
    this.#bars = [...this.#bars, bar];
    this.#show();
  }

  #show(): void {
    const fastest = Math.max(...this.#bars.map(({ speed }) => speed));
    find('bars').replaceChildren(
      ...this.#bars.map(({ name, speed }) => {
        const bar = make('span', 'bar');
        bar.style.setProperty('--share', `${speed / fastest}`);
        const row = make('li', name.startsWith('TensorFlow') ? 'baseline' : '');
        row.append(make('span', 'name', name), bar, make('span', 'value', whole(speed)));
        return row;
      }),
    );
  }
}
