import { describe, expect, it } from 'vitest';
import { ticketsOf } from './tickets.js';

const group = { key: Buffer.alloc(32, 1), job: 'mine', generation: 3, size: 4 };
const nonces = [2, 3, 4, 5].map((byte) => Buffer.alloc(32, byte));

describe('the tickets of two members', () => {
  it('are the same for both, and have 64 bytes for each connection', () => {
    const tickets = ticketsOf(group, [1, 3], nonces, 2, false);
    expect(ticketsOf(group, [3, 1], nonces, 2, false)).toEqual(tickets);
    expect(tickets.length).toBe(128);
    expect(tickets.subarray(0, 64)).toEqual(ticketsOf(group, [1, 3], nonces, 1, false));
  });

  it('differ for every connection, pair, nonce, group and job key, and if the connection is sealed', () => {
    const fresh = nonces.map((nonce, rank) => (rank === 3 ? Buffer.alloc(32, 9) : nonce));
    const all = [
      ticketsOf(group, [1, 3], nonces, 1, false),
      ticketsOf(group, [1, 3], nonces, 1, true),
      ticketsOf(group, [1, 3], nonces, 2, false).subarray(64),
      ticketsOf(group, [2, 3], nonces, 1, false),
      ticketsOf(group, [1, 2], nonces, 1, false),
      ticketsOf(group, [1, 3], fresh, 1, false),
      ticketsOf({ ...group, key: Buffer.alloc(32, 8) }, [1, 3], nonces, 1, false),
      ticketsOf({ ...group, job: 'theirs' }, [1, 3], nonces, 1, false),
      ticketsOf({ ...group, generation: 4 }, [1, 3], nonces, 1, false),
      ticketsOf({ ...group, size: 5 }, [1, 3], nonces, 1, false),
    ].flatMap((ticket) =>
      [ticket.subarray(0, 32), ticket.subarray(32)].map((half) => Buffer.from(half).toString('hex')),
    );
    expect(new Set(all).size).toBe(all.length);
  });
});
