import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import { syncBuiltinESMExports } from 'node:module';
import os, { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { addressOf, isLoopback, reachableAddress } from './own-address.js';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

describe('addressOf', () => {
  it.each(['127.0.0.1', '::1', '10.1.2.3', 'fd00::1'])('returns the address %s unchanged', async (address) => {
    expect(await addressOf(address)).toBe(address);
  });

  it('finds the address of a network interface and of a host name', async () => {
    const [name = '', peers] = Object.entries(networkInterfaces())[0] ?? [];
    expect(peers?.map(({ address }) => address)).toContain(await addressOf(name));
    expect(isLoopback(await addressOf('localhost'))).toBe(true);
  });

  it.each(['0.0.0.0', '::'])('refuses %s, which is not the address of one host', async (address) => {
    await expect(addressOf(address)).rejects.toMatchObject({
      ...{ name: 'ValueError', code: 'ERR_COLL_VALUE', operation: 'open a group' },
      message: expect.stringContaining(`host ${address} means all addresses`),
    });
  });

  it('lists the network interfaces in the error for an unknown host', async () => {
    await expect(addressOf('no-such-host.invalid')).rejects.toMatchObject({
      code: 'ERR_COLL_VALUE',
      operation: 'open a group',
      cause: expect.objectContaining({ syscall: 'getaddrinfo' }),
      message: expect.stringContaining(Object.keys(networkInterfaces())[0] as string),
    });
  });
});

describe('a network interface', () => {
  const info = (address: string, family: 'IPv4' | 'IPv6') => ({ address, family }) as os.NetworkInterfaceInfo;

  function mockInterfaces(interfaces: Record<string, os.NetworkInterfaceInfo[]>) {
    vi.spyOn(os, 'networkInterfaces').mockReturnValue(interfaces);
    syncBuiltinESMExports();
  }

  it.each<[string, os.NetworkInterfaceInfo[]]>([
    ['10.0.0.1', [info('fe80::1', 'IPv6'), info('fd00::1', 'IPv6'), info('10.0.0.1', 'IPv4')]],
    ['fd00::1', [info('fe80::1', 'IPv6'), info('fd00::1', 'IPv6'), info('fd00::2', 'IPv6')]],
  ])('is resolved to %s', async (address, peers) => {
    mockInterfaces({ card0: peers, card1: [info('10.9.9.9', 'IPv4')] });
    expect(await addressOf('card0')).toBe(address);
  });

  it('is refused if it has only a link-local address', async () => {
    mockInterfaces({ card0: [info('fe80::1', 'IPv6')] });
    await expect(addressOf('card0')).rejects.toThrow(
      'the network interface card0 has no address that other hosts can reach',
    );
  });

  it('is listed in the error message for an unknown host', async () => {
    mockInterfaces({ card0: [], card1: [] });
    await expect(addressOf('no-such-host.invalid')).rejects.toThrow('one of the interfaces card0, card1');
  });
});

describe('reachableAddress', () => {
  it('returns the address of a name, and localhost, unchanged', async () => {
    expect(await reachableAddress('10.0.0.7')).toBe('10.0.0.7');
    expect(isLoopback(await reachableAddress('localhost'))).toBe(true);
  });

  it('replaces the loopback address of a host name by one that other hosts reach', async () => {
    vi.spyOn(dns, 'lookup').mockResolvedValue({ address: '127.0.1.1', family: 4 } as never);
    syncBuiltinESMExports();
    const address = await reachableAddress('node01');
    expect(address).not.toBe('127.0.1.1');
    expect(address).toBe(await reachableAddress());
  });

  it('prefers the given address to one that it finds by itself, but not to that of the name', async () => {
    expect(await reachableAddress(undefined, '10.0.0.7')).toBe('10.0.0.7');
    expect(await reachableAddress('no-such-host.invalid', '10.0.0.7')).toBe('10.0.0.7');
    expect(await reachableAddress('10.0.0.8', '10.0.0.7')).toBe('10.0.0.8');
  });

  it('takes the first interface if there is no route to other networks', async () => {
    vi.spyOn(dgram, 'createSocket').mockImplementation(() => {
      throw new Error('ENETUNREACH');
    });
    vi.spyOn(os, 'networkInterfaces').mockReturnValue({
      lo: [{ address: '127.0.0.1', family: 'IPv4', internal: true } as never],
      card0: [{ address: '10.0.0.1', family: 'IPv4', internal: false } as never],
    });
    syncBuiltinESMExports();
    expect(await reachableAddress()).toBe('10.0.0.1');
  });
});

it('addresses that begin with 127 and ::1 are loopback addresses', () => {
  expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
  expect(['10.0.0.1', '::2', '128.0.0.1'].some(isLoopback)).toBe(false);
});
