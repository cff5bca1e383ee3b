/** A point of a unit square whose y axis points down. */
export type Point = readonly [x: number, y: number];

/** Points joined by straight lines. */
export type Stroke = readonly Point[];

/** Ways to write each digit. */
export const digitStrokes: readonly (readonly (readonly Stroke[])[])[] = [
  [[arc(0.5, 0.5, 0.27, 0.4, 0, 360)], [arc(0.5, 0.5, 0.2, 0.4, -80, 290)]],
  [
    [line([0.5, 0.1], [0.5, 0.9])],
    [line([0.34, 0.27], [0.54, 0.1], [0.54, 0.9])],
    [line([0.34, 0.27], [0.52, 0.1], [0.52, 0.9]), line([0.3, 0.9], [0.74, 0.9])],
  ],
  [
    [[...arc(0.48, 0.32, 0.25, 0.22, -170, 30), ...line([0.26, 0.9], [0.76, 0.9])]],
    [[...arc(0.48, 0.32, 0.24, 0.22, -150, 45), ...arc(0.33, 0.82, 0.1, 0.08, 180, 360), [0.8, 0.88]]],
  ],
  [
    [[...arc(0.46, 0.3, 0.24, 0.2, -150, 90), ...arc(0.46, 0.7, 0.27, 0.2, -90, 150)]],
    [[...line([0.26, 0.1], [0.72, 0.1], [0.46, 0.44]), ...arc(0.46, 0.68, 0.26, 0.22, -80, 150)]],
  ],
  [
    [line([0.58, 0.1], [0.22, 0.62], [0.8, 0.62]), line([0.62, 0.36], [0.62, 0.9])],
    [line([0.28, 0.1], [0.26, 0.52], [0.76, 0.52]), line([0.7, 0.1], [0.66, 0.9])],
  ],
  [
    [line([0.74, 0.1], [0.34, 0.1]), [[0.34, 0.1], [0.3, 0.46], ...arc(0.48, 0.64, 0.25, 0.24, -130, 140)]],
    [[[0.74, 0.12], [0.4, 0.1], [0.36, 0.44], ...arc(0.48, 0.66, 0.22, 0.24, -110, 150)]],
  ],
  [
    [[[0.66, 0.1], [0.44, 0.28], [0.3, 0.52], ...arc(0.5, 0.68, 0.22, 0.22, 180, -180)]],
    [[...arc(0.6, 0.5, 0.34, 0.4, -70, -180), ...arc(0.47, 0.7, 0.21, 0.2, -180, 180)]],
  ],
  [
    [line([0.24, 0.1], [0.76, 0.1], [0.42, 0.9])],
    [line([0.24, 0.14], [0.76, 0.1], [0.44, 0.9]), line([0.38, 0.5], [0.7, 0.5])],
  ],
  [
    [arc(0.5, 0.3, 0.2, 0.2, 0, 360), arc(0.5, 0.7, 0.24, 0.2, 0, 360)],
    [[...arc(0.5, 0.3, 0.21, 0.2, -40, -270), ...arc(0.5, 0.7, 0.24, 0.2, -90, 270), [0.66, 0.2]]],
  ],
  [
    [arc(0.48, 0.32, 0.22, 0.22, 0, 360), line([0.7, 0.32], [0.66, 0.9])],
    [[...arc(0.48, 0.32, 0.22, 0.22, -20, -350), ...arc(0.4, 0.5, 0.32, 0.4, -20, 80)]],
  ],
];

function line(...points: readonly Point[]): Stroke {
  return points;
}

/** Part of an ellipse; angles are in degrees, clockwise from the right. */
function arc(x: number, y: number, radiusX: number, radiusY: number, from: number, to: number): Stroke {
  const pieces = Math.max(2, Math.round(Math.abs(to - from) / 30));
  return Array.from({ length: pieces + 1 }, (_, piece): Point => {
    const angle = ((from + ((to - from) * piece) / pieces) * Math.PI) / 180;
    return [x + radiusX * Math.cos(angle), y + radiusY * Math.sin(angle)];
  });
}
