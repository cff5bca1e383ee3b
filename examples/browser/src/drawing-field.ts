/** In units of the field, whose sides have the length 1. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export type Stroke = readonly Point[];

const penWidth = 0.07;

/** How far an arrow key moves the pen. */
const keyStep = 1 / 16;

const moves: Readonly<Record<string, Point>> = {
  ArrowLeft: { x: -keyStep, y: 0 },
  ArrowRight: { x: keyStep, y: 0 },
  ArrowUp: { x: 0, y: -keyStep },
  ArrowDown: { x: 0, y: keyStep },
};

/** A canvas on which people draw, by mouse, finger, pen or keyboard. */
export class DrawingField {
  readonly #canvas: HTMLCanvasElement;
  readonly #onChange: () => void;
  #strokes: Point[][] = [];
  /** The pen of the keyboard. */
  #pen: Point = { x: 0.5, y: 0.5 };
  #isDown = false;
  #hasKeys = false;

  constructor(canvas: HTMLCanvasElement, onChange: () => void) {
    this.#canvas = canvas;
    this.#onChange = onChange;
    canvas.addEventListener('pointerdown', (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#hasKeys = false;
      this.#begin(this.#placeOf(event));
    });
    canvas.addEventListener('pointermove', (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.#continue(this.#placeOf(event));
    });
    canvas.addEventListener('keydown', (event) => {
      if (this.#press(event.key)) event.preventDefault();
    });
    canvas.addEventListener('blur', () => {
      this.#hasKeys = false;
      this.#paint();
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.#paint());
    this.#paint();
  }

  get strokes(): readonly Stroke[] {
    return this.#strokes;
  }

  /** Replaces what is drawn. */
  show(strokes: readonly Stroke[]): void {
    this.#strokes = strokes.map((stroke) => [...stroke]);
    this.#isDown = false;
    this.#change();
  }

  #placeOf({ offsetX, offsetY }: PointerEvent): Point {
    return { x: offsetX / this.#canvas.clientWidth, y: offsetY / this.#canvas.clientHeight };
  }

  /** Returns whether the field knows the key. */
  #press(key: string): boolean {
    const move = moves[key];
    if (!move && key !== ' ') return false;
    this.#hasKeys = true;
    if (move) {
      this.#pen = { x: inside(this.#pen.x + move.x), y: inside(this.#pen.y + move.y) };
      if (this.#isDown) this.#continue(this.#pen);
    } else {
      this.#isDown = !this.#isDown;
      if (this.#isDown) this.#begin(this.#pen);
    }
    this.#paint();
    return true;
  }

  #begin(point: Point): void {
    this.#strokes.push([point]);
    this.#change();
  }

  #continue(point: Point): void {
    this.#strokes.at(-1)?.push(point);
    this.#change();
  }

  #change(): void {
    this.#paint();
    this.#onChange();
  }

  #paint(): void {
    const { width, height } = this.#canvas;
    const context = this.#canvas.getContext('2d') as CanvasRenderingContext2D;
    const { color, accentColor } = getComputedStyle(this.#canvas);
    context.clearRect(0, 0, width, height);
    drawStrokes(context, this.#strokes, { scale: width, color, penWidth: penWidth * width });
    if (!this.#hasKeys) return;
    context.beginPath();
    context.arc(this.#pen.x * width, this.#pen.y * height, penWidth * width, 0, 2 * Math.PI);
    context.strokeStyle = context.fillStyle = accentColor;
    context.lineWidth = 4;
    context.stroke();
    if (this.#isDown) context.fill();
  }
}

const inside = (at: number) => Math.min(1 - keyStep, Math.max(keyStep, at));

/** An image as the model has learned to read: its size, the size of its digit, and the width of its pen, in pixels. */
const imageSide = 28;
const digitSide = 17;
const imagePen = 2.6;

/** The image of strokes of any size: the digit is in its middle. 0 is paper, 1 is ink. */
export function imageOf(strokes: readonly Stroke[]): Float32Array {
  const points = strokes.flat();
  const [left, right] = rangeOf(points.map(({ x }) => x));
  const [top, bottom] = rangeOf(points.map(({ y }) => y));
  const scale = digitSide / Math.max(right - left, bottom - top, 0.1);
  const canvas = new OffscreenCanvas(imageSide, imageSide);
  const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
  context.translate(imageSide / 2 - (scale * (left + right)) / 2, imageSide / 2 - (scale * (top + bottom)) / 2);
  drawStrokes(context, strokes, { scale, color: 'black', penWidth: imagePen });
  const { data } = context.getImageData(0, 0, imageSide, imageSide);
  return Float32Array.from({ length: imageSide ** 2 }, (_, pixel) => (data[4 * pixel + 3] as number) / 255);
}

const rangeOf = (values: readonly number[]) => [Math.min(...values), Math.max(...values)] as const;

function drawStrokes(
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  strokes: readonly Stroke[],
  { scale, color, penWidth }: { readonly scale: number; readonly color: string; readonly penWidth: number },
): void {
  context.strokeStyle = color;
  context.lineWidth = penWidth;
  context.lineCap = context.lineJoin = 'round';
  for (const [first, ...others] of strokes) {
    if (!first) continue;
    context.beginPath();
    context.moveTo(first.x * scale, first.y * scale);
    // A line to the same place is a dot.
    for (const { x, y } of others.length === 0 ? [first] : others) context.lineTo(x * scale, y * scale);
    context.stroke();
  }
}
