import { between, type Random, randomFrom, spread } from './random.ts';
import { digitStrokes, type Point, type Stroke } from './strokes.ts';

/** Width and height of an image in pixels. */
const side = 28;
export const pixels = side * side;

export interface Digits {
  readonly count: number;
  /** One image after the other, row by row: 0 is paper, 1 is ink. */
  readonly images: Float32Array;
  /** The digit that each image shows, 0 to 9. */
  readonly labels: Uint8Array;
}

export interface DigitsRequest {
  readonly seed: number;
  /** The number of the first digit in the sequence of this seed, and the distance to the next digit. */
  readonly first: number;
  readonly stride: number;
  readonly count: number;
}

/** Makes digits that look handwritten. Each digit depends only on the seed and its number, so every replica makes only its own digits. */
export function digits({ seed, first, stride, count }: DigitsRequest): Digits {
  const images = new Float32Array(count * pixels);
  const labels = new Uint8Array(count);
  for (let at = 0; at < count; at++) {
    const random = randomFrom(seed, first + at * stride);
    labels[at] = Math.floor(random() * 10);
    drawDigit(images.subarray(at * pixels, (at + 1) * pixels), labels[at] as number, random);
  }
  return { count, images, labels };
}

function drawDigit(image: Float32Array, label: number, random: Random): void {
  const styles = digitStrokes[label] as readonly (readonly Stroke[])[];
  const strokes = styles[Math.floor(random() * styles.length)] as readonly Stroke[];
  const place = handwriting(random);
  const penRadius = between(random, 0.8, 1.7);
  for (const stroke of strokes) {
    const points = stroke.map((point) => place(wobble(point, random)));
    for (let at = 1; at < points.length; at++) drawLine(image, points[at - 1] as Point, points[at] as Point, penRadius);
  }
  addScribble(image, random);
  const ink = between(random, 0.55, 1);
  for (let at = 0; at < image.length; at++) {
    image[at] = Math.min(1, Math.max(0, (image[at] as number) * ink + spread(random, 0.1)));
  }
}

/** Where a point of the unit square falls on the image for one writer: size, slant, turn and shift. */
function handwriting(random: Random): (point: Point) => Point {
  const turn = spread(random, 0.12);
  const slant = spread(random, 0.15);
  const [width, height] = [between(random, 14, 21), between(random, 18, 23)];
  const [shiftX, shiftY] = [spread(random, 1), spread(random, 1)];
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  return ([px, py]) => {
    const y = (py - 0.5) * height;
    const x = (px - 0.5) * width - slant * y;
    return [side / 2 + shiftX + x * cos - y * sin, side / 2 + shiftY + x * sin + y * cos];
  };
}

function wobble([x, y]: Point, random: Random): Point {
  return [x + spread(random, 0.022), y + spread(random, 0.022)];
}

/** Draws a short stray line on some of the images. */
function addScribble(image: Float32Array, random: Random): void {
  if (random() > 0.3) return;
  const from: Point = [between(random, 2, side - 2), between(random, 2, side - 2)];
  drawLine(image, from, [from[0] + spread(random, 4), from[1] + spread(random, 4)], 0.4);
}

/** Inks the pixels that a round pen touches. Pixels at its rim get less ink. */
function drawLine(image: Float32Array, [x0, y0]: Point, [x1, y1]: Point, radius: number): void {
  const reach = radius + 1;
  const [left, right] = [
    Math.max(0, Math.floor(Math.min(x0, x1) - reach)),
    Math.min(side - 1, Math.ceil(Math.max(x0, x1) + reach)),
  ];
  const [top, bottom] = [
    Math.max(0, Math.floor(Math.min(y0, y1) - reach)),
    Math.min(side - 1, Math.ceil(Math.max(y0, y1) + reach)),
  ];
  const [dx, dy] = [x1 - x0, y1 - y0];
  const squaredLength = dx * dx + dy * dy || 1;
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const along = Math.min(1, Math.max(0, ((x - x0) * dx + (y - y0) * dy) / squaredLength));
      const distance = Math.sqrt((x - x0 - along * dx) ** 2 + (y - y0 - along * dy) ** 2);
      const cover = Math.min(1, Math.max(0, radius + 0.5 - distance));
      const at = y * side + x;
      if (cover > (image[at] as number)) image[at] = cover;
    }
  }
}
