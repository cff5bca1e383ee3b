import { createServer } from 'node:net';
import { ServerDouble } from './server-double.js';

/**
 * A double of a Redis server: the commands that a RedisStore sends, in one process, for machines without the real one. It recognises
 * each script by the commands in it and executes it in JavaScript.
 */
export class RedisDouble extends ServerDouble {
  readonly #values: Map<string, Buffer>;
  readonly #faults: { losesNext: boolean };

  static async listen(): Promise<RedisDouble> {
    const double = new RedisDouble(new Map(), { losesNext: false });
    await double.start();
    return double;
  }

  private constructor(values: Map<string, Buffer>, faults: { losesNext: boolean }) {
    const server = createServer((socket) => {
      let unread = Buffer.alloc(0);
      socket.on('data', (part: Buffer) => {
        unread = Buffer.concat([unread, part]);
        for (let next = commandIn(unread); next; next = commandIn(unread)) {
          unread = unread.subarray(next.end);
          const answered = answer(values, next.words);
          if (!faults.losesNext) socket.write(answered);
          else socket.destroy();
          faults.losesNext = false;
        }
      });
    });
    super('redis', server);
    this.#values = values;
    this.#faults = faults;
  }

  /** The next command is done, and then its connection ends without an answer. */
  loseNextAnswer(): void {
    this.#faults.losesNext = true;
  }

  async forget(): Promise<void> {
    this.#values.clear();
  }
}

/** The first whole command: an array of texts with their lengths. */
function commandIn(bytes: Buffer): { readonly words: readonly Buffer[]; readonly end: number } | undefined {
  let at = 0;
  const number = () => {
    const end = bytes.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const value = Number(bytes.toString('latin1', at + 1, end));
    at = end + 2;
    return value;
  };
  const count = number();
  if (count === undefined) return undefined;
  const words: Buffer[] = [];
  while (words.length < count) {
    const length = number();
    if (length === undefined || bytes.length < at + length + 2) return undefined;
    words.push(Buffer.from(bytes.subarray(at, at + length)));
    at += length + 2;
  }
  return { words, end: at };
}

function answer(values: Map<string, Buffer>, [command, ...words]: readonly Buffer[]): Buffer {
  const key = String(words[0]);
  switch (String(command).toUpperCase()) {
    case 'GET':
      return bulk(values.get(key));
    case 'SET':
      values.set(key, words[1] as Buffer);
      return Buffer.from('+OK\r\n');
    case 'DEL':
      return Buffer.from(`:${Number(values.delete(key))}\r\n`);
    case 'EVAL':
      return evaluated(values, words);
    case 'INFO':
      return bulk(Buffer.from('redis_version:7.0.0\r\nloading:0\r\n'));
    default:
      return Buffer.from('+OK\r\n');
  }
}

function evaluated(values: Map<string, Buffer>, [script, , name, ...values_]: readonly Buffer[]): Buffer {
  const key = String(name);
  const present = values.get(key);
  if (String(script).includes('local sum')) {
    const before = String(present ?? 0);
    const sum = /^-?\d{1,16}$/.test(before) ? Number(before) + Number(values_[0]) : Number.NaN;
    if (!Number.isSafeInteger(sum)) return bulk(undefined);
    values.set(key, Buffer.from(String(sum)));
    return bulk(Buffer.from(String(sum)));
  }
  const [isThere, expected, desired] = values_;
  const fits = String(isThere) === '1' ? present?.equals(expected as Buffer) : present === undefined;
  if (fits) values.set(key, desired as Buffer);
  return Buffer.from(`:${Number(fits === true)}\r\n`);
}

function bulk(value: Buffer | undefined): Buffer {
  if (!value) return Buffer.from('$-1\r\n');
  return Buffer.concat([Buffer.from(`$${value.length}\r\n`), value, Buffer.from('\r\n')]);
}
