import { expect, it } from 'vitest';
import { type AddressFacts, addressCheck, addressLines } from './address.js';

const facts: AddressFacts = {
  hostName: 'h1',
  nameAddress: '10.0.0.1',
  own: { address: '127.0.0.1', why: 'for members on this host' },
  isReached: false,
  outside: '10.0.0.1',
  interfaces: ['eth0', 'ib0'],
  freePorts: '32768 to 60999',
  bound: [{ port: 0 }],
};

const line = (name: string, changed: Partial<AddressFacts>) =>
  addressLines({ ...facts, ...changed }).find((each) => each.name === name);

it('reports the name of the host, its address and the ports', () => {
  expect(addressLines(facts)).toMatchObject([
    { name: 'host name', text: 'h1 resolves to 10.0.0.1', data: { hostName: 'h1', address: '10.0.0.1' } },
    {
      name: 'address',
      verdict: 'ok',
      text: '127.0.0.1 (for members on this host); the address towards other hosts is 10.0.0.1',
    },
    { name: 'ports', verdict: 'ok', text: 'any free port from 32768 to 60999', data: { ports: [{ port: 0 }] } },
  ]);
});

it('reports hosts without a name, a network or a range of ports', () => {
  expect(line('host name', { nameAddress: undefined })?.text).toBe('h1, which does not resolve to an address');
  expect(line('address', { outside: '127.0.0.1' })?.text).toBe(
    '127.0.0.1 (for members on this host); this host has no network',
  );
  expect(line('ports', { freePorts: undefined })?.text).toBe('any free port');
});

it('the address of COLL_HOST or a launcher is ok', () => {
  const own = { address: '10.0.0.1', why: 'COLL_HOST=eth0' };
  expect(line('address', { own, isReached: true })).toMatchObject({
    verdict: 'ok',
    text: '10.0.0.1 (COLL_HOST=eth0)',
  });
});

it('a loopback address is broken if members of other hosts must reach it', () => {
  const own = { address: '127.0.1.1', why: 'h1 in TF_CONFIG' };
  expect(line('address', { own, isReached: true })).toMatchObject({
    verdict: 'broken',
    text: '127.0.1.1 (h1 in TF_CONFIG), which other hosts cannot reach',
    cure: 'export COLL_HOST=eth0 on this host',
  });
});

it('a host that is not found is broken, and no port is tried', () => {
  const own = { refused: 'host must be an address, got "h9"' };
  const cure = 'export COLL_HOST=eth0, or another of ib0';
  expect(line('address', { own })).toMatchObject({ verdict: 'broken', text: own.refused, cure });
  expect(line('address', { own, interfaces: [] })).toMatchObject({ cure: 'export COLL_HOST=lo' });
  expect(line('ports', { own })).toBeUndefined();
});

it('the port of the store is ok if it can be bound', () => {
  expect(line('ports', { bound: [{ port: 0 }, { port: 2222 }] })).toMatchObject({
    verdict: 'ok',
    text: '2222 for the store, and any free port from 32768 to 60999',
  });
});

it.each([
  [
    { port: 2222, refused: 'EADDRINUSE' },
    'port 2222 cannot be bound at 127.0.0.1: it is in use',
    "end the program that uses the port (ss -ltnp 'sport = :2222' shows it)",
  ],
  [
    { port: 80, refused: 'EACCES' },
    'port 80 cannot be bound at 127.0.0.1: this user may not use it',
    'choose a port above 1023',
  ],
  [
    { port: 0, refused: 'EADDRNOTAVAIL' },
    'no port can be bound at 127.0.0.1: this host does not have the address',
    'set COLL_HOST to an address or interface of this host',
  ],
  [
    { port: 0, refused: 'EPERM' },
    'no port can be bound at 127.0.0.1: EPERM',
    'allow programs to listen: a sandbox or security policy forbids it',
  ],
])('ports are broken if one cannot be bound: %j', (failed, text, cure) => {
  expect(line('ports', { bound: [{ port: 0 }, failed] })).toMatchObject({
    verdict: 'broken',
    text,
    cure,
  });
});

/** The address of a member with these variables, as this machine finds it. */
async function found(environment: Readonly<Record<string, string>>) {
  const lines = await addressCheck.examine({ folder: '/', environment });
  return lines.find(({ name }) => name === 'address');
}

const config = (...worker: readonly string[]) => ({
  TF_CONFIG: JSON.stringify({ cluster: { worker }, task: { type: 'worker', index: 0 } }),
});

it('a member of coll run, and of a launcher on one host, listens at a loopback address', async () => {
  const ofLauncher = { COLL_RANK: '0', COLL_SIZE: '2', COLL_STORE: 'tcp://127.0.0.1:9' };
  expect(await found(ofLauncher)).toMatchObject({
    verdict: 'ok',
    text: expect.stringMatching(/^127.0.0.1 .coll run./),
  });
  const rank = { OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '2' };
  const local = { OMPI_COMM_WORLD_LOCAL_RANK: '0', OMPI_COMM_WORLD_LOCAL_SIZE: '2' };
  expect(await found({ ...rank, ...local })).toMatchObject({ text: expect.stringMatching(/^127.0.0.1 .Open MPI./) });
});

it('a member listens at its address in TF_CONFIG, which others must be able to reach', async () => {
  const local = await found(config('127.0.0.1:0', 'localhost:0'));
  expect(local).toMatchObject({ verdict: 'ok', text: expect.stringMatching(/^127.0.0.1 .127.0.0.1 in TF_CONFIG./) });
  expect(await found(config('127.0.0.1:0', 'h2:0'))).toMatchObject({
    verdict: 'broken',
    text: '127.0.0.1 (127.0.0.1 in TF_CONFIG), which other hosts cannot reach',
  });
});

it('COLL_HOST precedes the address in TF_CONFIG', async () => {
  const line = await found({ ...config('198.51.100.7:2222'), COLL_HOST: '127.0.0.1' });
  expect(line).toMatchObject({ verdict: 'ok', text: expect.stringMatching(/^127.0.0.1 .COLL_HOST=127.0.0.1./) });
});
