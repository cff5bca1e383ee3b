import type { ProcessBinding } from './process-binding.js';

/*
 * A record has a header and at most 64 KiB. The header, little-endian, as in the addon:
 *
 *     length          4 bytes: of the record, apart from the header
 *     of the record   4 bytes: CRC32C of these bytes
 *     of the header   4 bytes: CRC32C of the number of the record on this connection (8 bytes, from
 *                     0) and of both numbers above
 */
const headerBytes = 12;
const mostBytes = 2 ** 16;

/** Divides the bytes of one connection into records with checksums, and checks those of the other end. */
export class Checksums {
  readonly #binding: Pick<ProcessBinding, 'crc32c'>;
  #sent = 0n;
  #received = 0n;
  /** The header of the record that is arriving; undefined until the header has arrived. */
  #header: Buffer | undefined;
  /** What has arrived of that record, or of its header. */
  readonly #arrived = Buffer.alloc(mostBytes);
  #filled = 0;

  constructor(binding: Pick<ProcessBinding, 'crc32c'>) {
    this.#binding = binding;
  }

  /** The records that carry these bytes, as parts to write one after the other. */
  recordsOf(bytes: Uint8Array): readonly Uint8Array[] {
    const parts: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += mostBytes) {
      const part = bytes.subarray(at, at + mostBytes);
      const header = Buffer.alloc(headerBytes);
      header.writeUInt32LE(part.length, 0);
      header.writeUInt32LE(this.#binding.crc32c(0, part), 4);
      header.writeUInt32LE(this.#ofHeader(header, this.#sent++), 8);
      parts.push(header, part);
    }
    return parts;
  }

  /**
   * Reads the next bytes of the connection.
   * @param deliver gets the bytes of each record that has arrived completely, and returns whether it
   * can use them. They are valid during the call only.
   * @returns false if a record was altered or cannot be used; no later one is delivered
   */
  read(bytes: Uint8Array, deliver: (bytes: Uint8Array) => boolean): boolean {
    for (let at = 0; at < bytes.length; ) {
      const wanted = this.#header?.readUInt32LE(0) ?? headerBytes;
      const part = bytes.subarray(at, at + wanted - this.#filled);
      at += part.length;
      const whole = this.#joined(part, wanted);
      if (!whole) return true;
      if (!this.#header) {
        this.#header = Buffer.from(whole);
        if (!this.#isHeader(this.#header)) return false;
      } else {
        if (this.#binding.crc32c(0, whole) !== this.#header.readUInt32LE(4)) return false;
        this.#header = undefined;
        if (!deliver(whole)) return false;
      }
    }
    return true;
  }

  /** All `wanted` bytes, of which `part` are the next ones; undefined if some are still missing. */
  #joined(part: Uint8Array, wanted: number): Uint8Array | undefined {
    if (part.length === wanted) return part;
    this.#arrived.set(part, this.#filled);
    this.#filled += part.length;
    if (this.#filled < wanted) return undefined;
    this.#filled = 0;
    return this.#arrived.subarray(0, wanted);
  }

  /** Checked before the length in a header is believed: nobody waits for bytes that never come. */
  #isHeader(header: Buffer): boolean {
    const length = header.readUInt32LE(0);
    return header.readUInt32LE(8) === this.#ofHeader(header, this.#received++) && length > 0 && length <= mostBytes;
  }

  #ofHeader(header: Buffer, number: bigint): number {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(number);
    return this.#binding.crc32c(this.#binding.crc32c(0, bytes), header.subarray(0, 8));
  }
}
