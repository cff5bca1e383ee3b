import { addTile, type Board, type Direction, push } from './game.ts';
import { changeExpectation, expectedPoints } from './network.ts';

/** The experience of a replica: whole games, one after the other. */
export interface Games {
  /** Four rows per move: the board after the push, before the new tile. */
  readonly boards: Uint16Array;
  /** The points of each move. */
  readonly points: Uint32Array;
  /** The number of moves of each game. */
  readonly lengths: Uint32Array;
}

const directions: readonly Direction[] = ['left', 'right', 'up', 'down'];
const pushed = new Uint16Array(4);

/** Begins games until `performance.now()` is `end`, and plays them all to their ends. */
export function play(weights: Float32Array, end: number): Games {
  const boards: number[] = [];
  const points: number[] = [];
  const lengths: number[] = [];
  const board = new Uint16Array(4);
  while (performance.now() < end) {
    const first = points.length;
    board.fill(0);
    addTile(board);
    for (;;) {
      addTile(board);
      const made = move(weights, board);
      if (made < 0) break;
      boards.push(...board);
      points.push(made);
    }
    lengths.push(points.length - first);
  }
  return { boards: Uint16Array.from(boards), points: Uint32Array.from(points), lengths: Uint32Array.from(lengths) };
}

/** Makes the push that promises most points. Returns the points that it makes at once, or -1 if the game is over. */
function move(weights: Float32Array, board: Board): number {
  let [best, most, made] = [-1, -Infinity, -1];
  for (let index = 0; index < 4; index++) {
    const now = push(board, directions[index] as Direction, pushed);
    if (now < 0) continue;
    const all = now + expectedPoints(weights, pushed);
    if (all > most) [best, most, made] = [index, all, now];
  }
  if (best < 0) return -1;
  push(board, directions[best] as Direction, pushed);
  board.set(pushed);
  return made;
}

const rate = 0.1;

/** Temporal-difference learning: moves the value of each board towards the points of the next move and the value after it. */
export function learn(weights: Float32Array, { boards, points, lengths }: Games): void {
  let first = 0;
  for (const length of lengths) {
    let target = 0;
    // From the last move on, so that the values of all boards of a game already know its end.
    for (let at = first + length - 1; at >= first; at--) {
      const board = boards.subarray(4 * at, 4 * at + 4);
      const value = expectedPoints(weights, board);
      const difference = rate * (target - value);
      changeExpectation(weights, board, difference);
      target = (points[at] as number) + value + difference;
    }
    first += length;
  }
}
