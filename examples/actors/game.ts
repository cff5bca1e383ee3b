// The game 2048. A board has four rows of 16 bits, with four bits per tile: the tile 2^n is the number n, and no tile is 0.

/** The rows of a board, from the top. The highest bits of a row are its leftmost tile. */
export type Board = Uint16Array;

export type Direction = 'left' | 'right' | 'up' | 'down';

/** For each row: the row after a push to the left or to the right, and the points that either makes. */
const left = new Uint16Array(2 ** 16);
const right = new Uint16Array(2 ** 16);
const points = new Uint32Array(2 ** 16);
for (let row = 0; row < 2 ** 16; row++) {
  const tiles = tilesOf(row);
  const { after, made } = pushLeft(tiles);
  left[row] = rowOf(after);
  right[row] = rowOf(pushLeft(tiles.reverse()).after.reverse());
  points[row] = made;
}

function tilesOf(row: number): number[] {
  return [12, 8, 4, 0].map((shift) => (row >> shift) & 15);
}

function rowOf(tiles: readonly number[]): number {
  return tiles.reduce((row, tile) => row * 16 + tile, 0);
}

/** Two equal tiles that meet become one of twice the value, which are the points. */
function pushLeft(row: readonly number[]): { after: number[]; made: number } {
  const tiles: number[] = [];
  let made = 0;
  let hasMerged = false;
  for (const tile of row.filter((each) => each > 0)) {
    hasMerged = !hasMerged && tile === tiles.at(-1) && tile < 15;
    if (hasMerged) {
      tiles[tiles.length - 1] = tile + 1;
      made += 2 ** (tile + 1);
    } else tiles.push(tile);
  }
  return { after: [...tiles, 0, 0, 0, 0].slice(0, 4), made };
}

/** Writes the board after a push to `into`. Returns the points, or -1 if no tile moves. */
export function push(board: Board, direction: Direction, into: Board): number {
  const isVertical = direction === 'up' || direction === 'down';
  const table = direction === 'left' || direction === 'up' ? left : right;
  if (isVertical) transpose(board, into);
  else into.set(board);
  let made = 0;
  let changes = 0;
  for (let index = 0; index < 4; index++) {
    const row = into[index] as number;
    const after = table[row] as number;
    changes |= row ^ after;
    made += points[row] as number;
    into[index] = after;
  }
  if (isVertical) transpose(into, into);
  return changes === 0 ? -1 : made;
}

/** Swaps rows and columns. `into` may be the board itself. */
export function transpose(board: Board, into: Board): void {
  const a = board[0] as number;
  const b = board[1] as number;
  const c = board[2] as number;
  const d = board[3] as number;
  for (let index = 0; index < 4; index++) {
    const shift = 12 - 4 * index;
    const first = (((a >> shift) & 15) << 12) | (((b >> shift) & 15) << 8);
    into[index] = first | (((c >> shift) & 15) << 4) | ((d >> shift) & 15);
  }
}

/** Puts a 2, or in one of ten cases a 4, on a random empty place. */
export function addTile(board: Board): void {
  const empty: number[] = [];
  for (let place = 0; place < 16; place++)
    if ((((board[place >> 2] as number) >> (4 * (place & 3))) & 15) === 0) empty.push(place);
  const place = empty[Math.floor(Math.random() * empty.length)] as number;
  const tile = Math.random() < 0.9 ? 1 : 2;
  board[place >> 2] = (board[place >> 2] as number) | (tile << (4 * (place & 3)));
}
