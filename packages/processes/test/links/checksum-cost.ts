import { Checksums } from '../../src/checksums.js';
import { processBinding } from '../../src/process-binding.js';

const bytes = new Uint8Array(2 ** 26).fill(7);
// What a socket reads at most at once.
const bytesPerRead = 2 ** 16;
const repetitions = 7;

/** What checksums cost on this machine apart from connections, as a text: CPU seconds per GB, the least of several. */
export function checksumCost(): string {
  const { processes } = processBinding();
  const sum = secondsPerGb(() => processes.crc32c(0, bytes));
  const wire = Buffer.concat(new Checksums(processes).recordsOf(bytes));
  const send = secondsPerGb(() => new Checksums(processes).recordsOf(bytes));
  const receive = secondsPerGb(() => receiveAll(wire));
  const figures = [`CRC32C ${sum}`, `records of messages ${send} to send`, `${receive} to receive`];
  return `checksums of 64 MiB in CPU s per GB: ${figures.join(', ')}`;

  function receiveAll(wire: Buffer): void {
    const checksums = new Checksums(processes);
    let received = 0;
    const count = (part: Uint8Array) => {
      received += part.length;
      return true;
    };
    for (let at = 0; at < wire.length; at += bytesPerRead) checksums.read(wire.subarray(at, at + bytesPerRead), count);
    if (received !== bytes.length) throw new Error(`received ${received} of ${bytes.length} bytes`);
  }
}

function secondsPerGb(work: () => void): string {
  const spent = Array.from({ length: repetitions }, () => {
    const begin = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1e6 / (bytes.length / 1e9);
  });
  return Math.min(...spent).toFixed(3);
}
