/**
 * The ranks that a member watches, and that watch it: those whose distance is a power of two, around
 * from the last rank to the first. Each of `size` members has at most 2 log2(size) of them, and
 * reaches all others in about half of log2(size) steps. The loss of any two others
 * leaves a path to all that remain. In ascending order.
 */
export function neighboursOf(rank: number, size: number): readonly number[] {
  const found = new Set<number>();
  for (let distance = 1; distance < size; distance *= 2) {
    found.add((rank + distance) % size);
    found.add((rank + size - distance) % size);
  }
  found.delete(rank);
  return [...found].sort((a, b) => a - b);
}
