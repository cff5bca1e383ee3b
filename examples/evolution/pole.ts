// A cart with a hanging pole. A small network pushes the cart so that the pole swings up and then stands.

const hidden = 6;
const inputs = 5;

/** Number of weights of the network: five inputs, six hidden units and one output, with biases. */
export const weightCount = hidden * (inputs + 2) + 1;

const steps = 500;
const seconds = 0.014;

export interface Attempt {
  /** Mean height of the pole's tip in seven seconds, from 0 (hanging) to 1; less if the pole turns fast. */
  readonly score: number;
  /** Seconds in which the pole has stood at the end. */
  readonly standing: number;
}

/** Plays seven seconds. The equations of the cart are those of Barto, Sutton and Anderson, 1983. */
export function attempt(weights: Float64Array): Attempt {
  let [x, speed, angle, turn] = [0, 0, Math.PI, 0];
  let [score, standing] = [0, 0];
  for (let step = 0; step < steps; step++) {
    const sin = Math.sin(angle);
    const cos = Math.cos(angle);
    const force = (10 * push(weights, x, speed, sin, cos, turn) + 0.05 * turn ** 2 * sin) / 1.1;
    const turning = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - (0.1 * cos ** 2) / 1.1));
    speed += seconds * (force - (0.05 * turning * cos) / 1.1);
    turn += seconds * turning;
    x += seconds * speed;
    angle += seconds * turn;
    if (Math.abs(x) > 2.4) return { score: score / steps, standing: 0 }; // The track ends here.
    score += (1 + cos) / 2 / (1 + 0.1 * turn ** 2);
    standing = cos > 0.9 ? standing + seconds : 0;
  }
  return { score: score / steps, standing };
}

/** The network's push, from -1 (left) to 1 (right). */
function push(weights: Float64Array, x: number, speed: number, sin: number, cos: number, turn: number): number {
  let output = weights[weightCount - 1] as number;
  for (let at = 0; at < weightCount - 1; at += inputs + 2) {
    const unit =
      (weights[at] as number) * x +
      (weights[at + 1] as number) * speed +
      (weights[at + 2] as number) * sin +
      (weights[at + 3] as number) * cos +
      (weights[at + 4] as number) * turn +
      (weights[at + 5] as number);
    output += (weights[at + 6] as number) * softsign(unit);
  }
  return softsign(output);
}

function softsign(value: number): number {
  return value / (1 + Math.abs(value));
}
