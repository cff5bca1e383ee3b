// Learns to balance a pole on a cart: plays games, then makes moves of long games more likely (REINFORCE).
import type { ReplicaContext } from '@coll/strategy';
import { distributedOptimizer } from '@coll/tfjs';
import * as tf from '@tensorflow/tfjs';

/** Position and speed of the cart, angle and angular speed of the pole. */
type State = [x: number, speed: number, angle: number, turn: number];

const longestGame = 200;

function isOver([x, , angle]: State): boolean {
  return Math.abs(x) > 2.4 || Math.abs(angle) > 0.21;
}

/** The state 0.02 s later, after a push to the left (-1) or right (1). The equations are those of Barto, Sutton and Anderson, 1983. */
function pushed([x, speed, angle, turn]: State, push: number): State {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  const force = (10 * push + 0.05 * turn ** 2 * sin) / 1.1;
  const turning = (9.8 * sin - cos * force) / (0.5 * (4 / 3 - (0.1 * cos ** 2) / 1.1));
  const speeding = force - (0.05 * turning * cos) / 1.1;
  return [x + 0.02 * speed, speed + 0.02 * speeding, angle + 0.02 * turn, turn + 0.02 * turning];
}

interface Move {
  readonly state: State;
  readonly isRight: boolean;
  /** How many moves the game lasted after this one. */
  left: number;
}

function play(model: tf.Sequential): Move[] {
  const moves: Move[] = [];
  let state = [0, 0, 0, 0].map(() => 0.1 * Math.random() - 0.05) as State;
  while (!isOver(state) && moves.length < longestGame) {
    const [right = 0.5] = tf.tidy(() => (model.predict(tf.tensor2d([state])) as tf.Tensor).dataSync());
    const isRight = Math.random() < right;
    moves.push({ state, isRight, left: 0 });
    state = pushed(state, isRight ? 1 : -1);
  }
  for (const [at, move] of moves.entries()) move.left = moves.length - at;
  return moves;
}

/** Minus the log-likelihood of the moves, each weighted by how long the game lasted after it, compared with the others. */
function loss(model: tf.Sequential, moves: readonly Move[]): tf.Scalar {
  const mean = moves.reduce((sum, { left }) => sum + left, 0) / moves.length;
  const right = (model.apply(tf.tensor2d(moves.map(({ state }) => state))) as tf.Tensor).squeeze([1]);
  const chosen = tf.where(
    tf.tensor1d(
      moves.map(({ isRight }) => isRight),
      'bool',
    ),
    right,
    tf.sub(1, right),
  );
  return tf.mean(
    chosen
      .add(1e-6)
      .log()
      .mul(moves.map(({ left }) => (mean - left) / mean)),
  ) as tf.Scalar;
}

export async function replica(context: ReplicaContext, iterations = 30, games = 12) {
  await tf.setBackend('cpu');
  const model = tf.sequential({
    layers: [
      tf.layers.dense({ units: 8, activation: 'elu', inputShape: [4] }),
      tf.layers.dense({ units: 1, activation: 'sigmoid' }),
    ],
  });
  const optimizer = distributedOptimizer(tf, tf.train.adam(0.03), context);
  const lengths: number[] = [];
  for (let iteration = 1; iteration <= iterations; iteration++) {
    const played = Array.from({ length: games }, () => play(model));
    const { value, grads } = tf.variableGrads(() => loss(model, played.flat()));
    optimizer.applyGradients(Object.entries(grads).map(([name, tensor]) => ({ name, tensor })));
    tf.dispose([value, grads]);
    const mean = context.allReduceSync('mean', Float64Array.of(played.flat().length / games));
    lengths.push(mean.data[0] as number);
    if (iteration % 10 === 0 && context.replicaIdInSyncGroup === 0)
      console.log(`iteration ${iteration}: a game lasts ${lengths.at(-1)?.toFixed(0)} moves`);
  }
  const weights = model.getWeights().map((weight) => weight.flatten());
  return { lengths, weights: tf.concat(weights).dataSync() as Float32Array };
}
