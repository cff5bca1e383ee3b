import { digitStrokes } from '../../train/strokes.ts';
import type { Weights } from './course.ts';
import { DrawingField, imageOf } from './drawing-field.ts';
import { find, make, percent } from './elements.ts';
import { classify } from './reader.ts';

/** The section with the field to draw on. The model names what is drawn, while it is drawn and while it learns. */
export class ReadingPanel {
  readonly #weights: () => Weights | undefined;
  readonly #field: DrawingField;
  readonly #bars: readonly HTMLElement[];
  #sample = 0;

  /** @param weights the weights that the model has now; undefined if it has learned nothing yet */
  constructor(weights: () => Weights | undefined) {
    this.#weights = weights;
    const items = Array.from({ length: 10 }, (_, digit) => make('li', '', `${digit}`));
    this.#bars = items.map((item) => {
      const bar = make('span', 'bar');
      item.prepend(bar);
      return bar;
    });
    find('probabilities').append(...items);
    this.#field = new DrawingField(find('field'), () => this.read());
    find('clear').addEventListener('click', () => this.#field.show([]));
    find('sample').addEventListener('click', () => this.#drawSample());
    this.read();
  }

  /** Names the digit that is drawn. */
  read(): void {
    const weights = this.#weights();
    const { strokes } = this.#field;
    if (!weights || strokes.length === 0) {
      this.#show(weights ? 'Draw a digit.' : 'The model has not learned anything yet.');
      return;
    }
    const probabilities = [...classify(weights, imageOf(strokes))];
    const most = Math.max(...probabilities);
    this.#show(`It reads as ${probabilities.indexOf(most)} (${percent(most)}).`, probabilities);
  }

  #show(answer: string, probabilities: readonly number[] = []): void {
    find('answer').textContent = answer;
    const most = Math.max(...probabilities);
    for (const [digit, bar] of this.#bars.entries()) {
      const probability = probabilities[digit] ?? 0;
      bar.style.setProperty('--share', `${probability}`);
      bar.parentElement?.classList.toggle('most', probability === most);
    }
  }

  #drawSample(): void {
    const styles = digitStrokes[this.#sample] ?? [];
    const strokes = styles.at(-1) ?? [];
    this.#field.show(strokes.map((stroke) => stroke.map(([x, y]) => ({ x, y }))));
    this.#sample = (this.#sample + 1) % digitStrokes.length;
  }
}
