import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Checksums } from './checksums.js';
import { processBinding } from './process-binding.js';

const { processes } = processBinding();
const wireOf = (checksums: Checksums, bytes: Uint8Array) => Buffer.concat(checksums.recordsOf(bytes));

/** What arrives of the bytes of a connection, which come in parts; undefined if they were altered. */
function read(wire: Buffer, bytesPerPart = wire.length): Buffer | undefined {
  const checksums = new Checksums(processes);
  const arrived: Buffer[] = [];
  for (let at = 0; at < wire.length; at += bytesPerPart) {
    const isRight = checksums.read(
      wire.subarray(at, at + bytesPerPart),
      (bytes) => arrived.push(Buffer.from(bytes)) > 0,
    );
    if (!isRight) return undefined;
  }
  return Buffer.concat(arrived);
}

describe('bytes with checksums', () => {
  it('the addon computes CRC32C', () => {
    expect(processes.crc32c(0, Buffer.from('123456789'))).toBe(0xe3069283);
    expect(processes.crc32c(processes.crc32c(0, Buffer.from('1234')), Buffer.from('56789'))).toBe(0xe3069283);
  });

  it.each([1, 24, 2 ** 16 - 1, 2 ** 16, 2 ** 16 + 1, 300_000])('%i bytes arrive in parts of any size', (length) => {
    const bytes = randomBytes(length);
    const sender = new Checksums(processes);
    const wire = Buffer.concat([wireOf(sender, bytes), wireOf(sender, bytes.subarray(0, 7))]);
    const expected = Buffer.concat([bytes, bytes.subarray(0, 7)]);
    for (const part of [11, 13, 1000, 2 ** 16, wire.length])
      expect(read(wire, part)?.equals(expected), String(part)).toBe(true);
  });

  it('a record with any changed bit is refused before it is delivered, and none makes the reader wait', () => {
    const sender = new Checksums(processes);
    const wire = Buffer.concat([wireOf(sender, randomBytes(24)), wireOf(sender, randomBytes(40))]);
    for (let bit = 0; bit < 8 * wire.length; bit++) {
      const changed = Buffer.from(wire);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(read(changed), String(bit)).toBeUndefined();
    }
  });

  it('a lost and a repeated record are refused', () => {
    const sender = new Checksums(processes);
    const [first, second] = [0, 1].map(() => wireOf(sender, randomBytes(24))) as [Buffer, Buffer];
    expect(read(second)).toBeUndefined();
    expect(read(Buffer.concat([first, first]))).toBeUndefined();
    expect(read(Buffer.concat([first, second]))).toHaveLength(48);
  });
});
