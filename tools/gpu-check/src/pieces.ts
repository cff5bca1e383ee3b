/** A tensor of a pack: its offset in its own memory and in the pack. */
export interface Piece {
  readonly into: number;
  readonly from: number;
  readonly bytes: number;
}

const alignment = 256;

/** Offsets for packing tensors: two small ones per large one, `totalBytes` at most together. */
export function packing(tensors: number, totalBytes: number): Piece[] {
  const larges = Math.ceil(tensors / 3);
  const smallBytes = (index: number) => 256 * (1 + (index % 8)) + 16;
  const smalls = Array.from({ length: tensors - larges }, (_, index) => smallBytes(index));
  const left = totalBytes - smalls.reduce((sum, bytes) => sum + bytes + alignment, 0);
  const largeBytes = Math.floor(left / larges / alignment) * alignment;
  const pieces: Piece[] = [];
  let [into, from] = [0, 0];
  for (let index = 0; index < tensors; index++) {
    const bytes = index % 3 === 0 ? largeBytes : (smalls.shift() as number);
    pieces.push({ into, from, bytes });
    into += bytes;
    from += Math.ceil(bytes / alignment) * alignment;
  }
  return pieces;
}

/** Offsets for unpacking the same tensors. */
export function unpacking(tensors: number, totalBytes: number): Piece[] {
  return packing(tensors, totalBytes).map(({ into, from, bytes }) => ({ into: from, from: into, bytes }));
}
