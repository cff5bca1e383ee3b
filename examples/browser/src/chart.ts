import { make } from './elements.ts';

const namespace = 'http://www.w3.org/2000/svg';

/** The picture is this many units wide and high, and stretched to its place in the page. */
const size = 100;

export interface ChartOptions {
  readonly title: string;
  /** The largest values of the axes, which begin at 0. */
  readonly maxX: number;
  readonly maxY: number;
  /** A value of the y axis as text. */
  readonly format: (y: number) => string;
  /** What the x axis counts. */
  readonly unit: string;
}

/** A line that grows to the right. */
export class LineChart {
  readonly #options: ChartOptions;
  readonly #line = document.createElementNS(namespace, 'polyline');
  readonly #picture = document.createElementNS(namespace, 'svg');
  readonly #value = make('span', 'value');
  #points = '';

  constructor(figure: HTMLElement, options: ChartOptions) {
    this.#options = options;
    const { title, maxX, maxY, format, unit } = options;
    const caption = make('figcaption', '', title);
    caption.append(this.#value);

    this.#picture.setAttribute('viewBox', `0 0 ${size} ${size}`);
    this.#picture.setAttribute('preserveAspectRatio', 'none');
    this.#picture.setAttribute('role', 'img');
    for (const share of [0, 0.25, 0.5, 0.75, 1]) this.#picture.append(gridLine(size * share));
    this.#picture.append(this.#line);

    const plot = make('div', 'plot');
    plot.append(axis('y-axis', [format(maxY), format(maxY / 2), format(0)]), this.#picture);
    figure.append(caption, plot, axis('x-axis', ['0', `${maxX} ${unit}`]));
    this.clear();
  }

  add(x: number, y: number): void {
    const { maxX, maxY } = this.#options;
    const place = [(size * x) / maxX, size * (1 - Math.min(y / maxY, 1))].map((at) => at.toFixed(2));
    this.#points += `${place.join()} `;
    this.#show(y);
  }

  clear(): void {
    this.#points = '';
    this.#show(undefined);
  }

  #show(last: number | undefined): void {
    const { title, format } = this.#options;
    this.#line.setAttribute('points', this.#points);
    this.#value.textContent = last === undefined ? '–' : format(last);
    this.#picture.setAttribute(
      'aria-label',
      last === undefined ? `${title}: no values yet` : `${title}: ${format(last)}`,
    );
  }
}

function gridLine(y: number): SVGLineElement {
  const line = document.createElementNS(namespace, 'line');
  for (const [name, value] of Object.entries({ x1: 0, x2: size, y1: y, y2: y })) line.setAttribute(name, `${value}`);
  return line;
}

/** The labels of an axis. The picture's name has the value that matters. */
function axis(className: string, labels: readonly string[]): HTMLElement {
  const element = make('div', className);
  element.setAttribute('aria-hidden', 'true');
  element.append(...labels.map((label) => make('span', '', label)));
  return element;
}
