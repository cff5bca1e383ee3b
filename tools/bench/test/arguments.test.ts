import { expect, it } from 'vitest';
import { parseArguments } from '../src/arguments.js';
import { UsageError } from '../src/usage-error.js';

it('bench measures everything except peer libraries by default', () => {
  expect(parseArguments([])).toEqual({
    command: 'measure',
    suites: [
      'in-process',
      'gradients',
      'event-loop',
      'strategy',
      'ops',
      'runs',
      'cold',
      'collectives',
      'packing',
      'overlap',
      'processes',
      'mpi',
      'recorder',
    ],
    ranks: [2],
    engines: undefined,
    forms: undefined,
    algorithms: ['direct'],
    inputs: undefined,
    places: ['in'],
    bytes: undefined,
    networks: undefined,
    transports: ['shared-memory', 'tcp'],
    rounds: undefined,
    emulateCores: undefined,
    peers: [],
    installPeers: false,
    isQuick: false,
    against: undefined,
    format: 'table',
    out: undefined,
  });
});

it('bench parses lists and drops duplicates', () => {
  const args = ['--quick', '--json', '--ranks', '2,4', '--bytes', '4,1KiB,4', '--peers', 'mpich-tuned, openmpi'];
  expect(parseArguments(args)).toMatchObject({
    isQuick: true,
    format: 'json',
    ranks: [2, 4],
    bytes: [4, 1024],
    peers: ['mpich-tuned', 'openmpi'],
  });
});

it('bench parses engines, call forms, inputs, placements and rounds', () => {
  const args = [
    '--engines',
    'native,js',
    '--forms',
    'sync',
    '--inputs',
    'fresh',
    '--places',
    'in,out',
    '--rounds',
    '4',
  ];
  expect(parseArguments(args)).toMatchObject({
    engines: ['native', 'js'],
    forms: ['sync'],
    inputs: ['fresh'],
    places: ['in', 'out'],
    rounds: 4,
  });
});

it('bench --install-peers installs all peer libraries if none is named', () => {
  expect(parseArguments(['--install-peers'])).toMatchObject({
    installPeers: true,
    peers: [
      'openmpi',
      'openmpi-tuned',
      'openmpi-nonblocking',
      'mpich',
      'mpich-tuned',
      'mpich-nonblocking',
      'gloo',
      'openmpi-tcp',
      'mpich-tcp',
      'mpi4py',
      'torch',
    ],
  });
});

it('bench --emulate-cores takes a number of cores', () => {
  expect(parseArguments(['--emulate-cores', '128'])).toMatchObject({ emulateCores: 128 });
  for (const wrong of ['0', '8193', 'all']) expect(() => parseArguments(['--emulate-cores', wrong])).toThrow(wrong);
});

it('bench report uses the checked-in figures by default', () => {
  expect(parseArguments(['report'])).toEqual({ command: 'report', from: undefined });
  expect(parseArguments(['figures'])).toEqual({ command: 'figures' });
  expect(parseArguments(['scale'])).toEqual({ command: 'scale', ranks: [8, 16, 32, 64, 128] });
  expect(parseArguments(['scale', '--groups', '4,256'])).toEqual({ command: 'scale', ranks: [4, 256] });
  expect(parseArguments(['report', '--in', 'a.jsonl'])).toEqual({ command: 'report', from: 'a.jsonl' });
});

it.each([
  [['--engines', 'js,gpu'], 'no engine is called "gpu"; there are native, wasm, js'],
  [['--forms', 'blocking'], 'no form is called "blocking"; there are sync, async, controller'],
  [
    ['--peers', 'nccl'],
    'no peer is called "nccl"; there are openmpi, openmpi-tuned, openmpi-nonblocking, mpich, mpich-tuned, mpich-nonblocking, gloo, openmpi-tcp, mpich-tcp, mpi4py, torch',
  ],
  [['--algorithms', ''], 'no algorithm is called ""; there are ring, direct, hierarchical-copy, reduction-to-one'],
  [['--bytes', '3'], '"3" is no size: write 4, 64KiB or 1MiB, a multiple of 4 bytes'],
  [['--ranks', '0'], '--ranks takes whole numbers from 1 to 64, not "0"'],
  [['--ranks', '2.5'], '--ranks takes whole numbers from 1 to 64, not "2.5"'],
  [['--rounds', '0'], '--rounds takes whole numbers from 1 to 99, not "0"'],
  [['--json', '--markdown'], '--json and --markdown exclude each other'],
  [['--bytes'], "option '--bytes <list>' argument missing"],
  [['--nope'], "unknown option '--nope'"],
  [['extra'], 'too many arguments. Expected 0 arguments but got 1.'],
])('bench refuses %j', (args, message) => {
  expect(() => parseArguments(args)).toThrow(new UsageError(message));
});
