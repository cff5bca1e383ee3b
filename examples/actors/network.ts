// The value of a board is the sum of one weight for each of its rows, columns and squares of four tiles: the n-tuple network of Szubert
// and Jaśkowski, "Temporal difference learning of n-tuple networks for the game 2048", 2014.
import { type Board, transpose } from './game.ts';

const tuples = 4 + 4 + 9;

/** Number of weights, one for each tuple and its tiles: 4.5 MB of float32. */
export const weightCount = tuples * 2 ** 16;

const indices = new Int32Array(tuples);
const columns = new Uint16Array(4);

/** The points that are expected after this board. */
export function expectedPoints(weights: Float32Array, board: Board): number {
  find(board);
  let value = 0;
  for (let tuple = 0; tuple < tuples; tuple++) value += weights[indices[tuple] as number] as number;
  return value;
}

/** Adds `difference` to the value of a board. */
export function changeExpectation(weights: Float32Array, board: Board, difference: number): void {
  find(board);
  for (let tuple = 0; tuple < tuples; tuple++) {
    const index = indices[tuple] as number;
    weights[index] = (weights[index] as number) + difference / tuples;
  }
}

/** Writes the indices of a board's weights to `indices`. */
function find(board: Board): void {
  transpose(board, columns);
  for (let line = 0; line < 4; line++) {
    indices[line] = (line << 16) | (board[line] as number);
    indices[4 + line] = ((4 + line) << 16) | (columns[line] as number);
  }
  for (let square = 0; square < 9; square++) {
    const row = Math.floor(square / 3);
    const shift = 4 * (square % 3);
    const upper = ((board[row] as number) >> shift) & 255;
    const lower = ((board[row + 1] as number) >> shift) & 255;
    indices[8 + square] = ((8 + square) << 16) | (upper << 8) | lower;
  }
}
