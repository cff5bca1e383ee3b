import { networkInterfaces } from 'node:os';
import { describe, expect, it } from 'vitest';
import { addressOf, isLoopback, isSameHost, thisHost } from './host.js';

describe('addressOf', () => {
  it.each(['127.0.0.1', '::1', '10.1.2.3', 'fd00::1'])('takes the address %s as it is', async (address) => {
    expect(await addressOf(address)).toBe(address);
  });

  it('finds the address of an interface, and of a name', async () => {
    const [name = '', cards] = Object.entries(networkInterfaces())[0] ?? [];
    expect(cards?.map(({ address }) => address)).toContain(await addressOf(name));
    expect(isLoopback(await addressOf('localhost'))).toBe(true);
  });

  it.each(['0.0.0.0', '::'])('refuses %s, which tells nobody where to go', async (address) => {
    await expect(addressOf(address)).rejects.toMatchObject({ code: 'ERR_COLL_VALUE' });
  });

  it('names the interfaces where a host is unknown', async () => {
    await expect(addressOf('no-such-host.invalid')).rejects.toMatchObject({
      code: 'ERR_COLL_VALUE',
      message: expect.stringContaining(Object.keys(networkInterfaces())[0] as string),
    });
  });
});

describe('hosts', () => {
  it('are the same where name and boot are', () => {
    const host = thisHost();
    expect(isSameHost(host, thisHost())).toBe(true);
    expect(isSameHost(host, { ...host, name: 'other' })).toBe(false);
    expect(isSameHost(host, { ...host, bootId: 'other' })).toBe(false);
  });

  it('are not reached by loopback addresses', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
    expect(['10.0.0.1', '::2', '128.0.0.1'].some(isLoopback)).toBe(false);
  });
});
