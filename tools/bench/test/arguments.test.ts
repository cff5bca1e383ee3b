import { expect, it } from 'vitest';
import { parseArguments } from '../src/arguments.js';
import { UsageError } from '../src/usage-error.js';

it('wants everything but peers unless told otherwise', () => {
  expect(parseArguments([])).toEqual({
    suites: ['in-process', 'strategy', 'collectives', 'packing'],
    ranks: [2],
    engines: ['portable', 'threads-sync', 'threads-async'],
    algorithms: undefined,
    bytes: undefined,
    peers: [],
    installPeers: false,
    isQuick: false,
    format: 'table',
  });
});

it('reads lists, each item once', () => {
  const args = ['--quick', '--json', '--ranks', '2,4', '--bytes', '4,1KiB,4', '--peers', 'mpich, openmpi'];
  expect(parseArguments(args)).toMatchObject({
    isQuick: true,
    format: 'json',
    ranks: [2, 4],
    bytes: [4, 1024],
    peers: ['mpich', 'openmpi'],
  });
});

it('takes threads for both of their engines', () => {
  expect(parseArguments(['--engines', 'threads'])?.engines).toEqual(['threads-sync', 'threads-async']);
});

it('installs all peers where none is named', () => {
  expect(parseArguments(['--install-peers'])).toMatchObject({
    installPeers: true,
    peers: ['openmpi', 'mpich', 'gloo'],
  });
});

it.each([
  [['--engines', 'portable,gpu'], 'no engine is called "gpu"; there are portable, threads-sync, threads-async'],
  [['--peers', 'nccl'], 'no peer is called "nccl"; there are openmpi, mpich, gloo'],
  [['--algorithms', ''], 'no algorithm is called ""; there are ring, direct, reduction-to-one'],
  [['--bytes', '3'], '"3" is no size: write 4, 64KiB or 1MiB, a multiple of 4 bytes'],
  [['--ranks', '0'], '--ranks takes whole numbers from 1 to 64, not "0"'],
  [['--ranks', '2.5'], '--ranks takes whole numbers from 1 to 64, not "2.5"'],
  [['--json', '--markdown'], '--json and --markdown exclude each other'],
  [['--bytes'], "option '--bytes <list>' argument missing"],
  [['--nope'], "unknown option '--nope'"],
  [['extra'], 'too many arguments. Expected 0 arguments but got 1.'],
])('refuses %j', (args, message) => {
  expect(() => parseArguments(args)).toThrow(new UsageError(message));
});
