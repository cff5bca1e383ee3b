import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { UnreachableHost } from './unreachable-host.js';

const failed = (code: string) => Object.assign(new Error(code), { code });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '');
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

it.each(['ENOTFOUND', 'EAI_AGAIN', 'ENETUNREACH', 'EADDRNOTAVAIL'])(
  'a host counts as unreachable once all attempts have failed with %s for 15 seconds',
  (code) => {
    const host = new UnreachableHost();
    expect(host.hasLasted(failed(code))).toBe(false);
    vi.advanceTimersByTime(14_999);
    expect(host.hasLasted(failed(code))).toBe(false);
    vi.advanceTimersByTime(1);
    expect(host.hasLasted(failed(code))).toBe(true);
    expect(host.advice).toMatch(/^(the name of this host is unknown here|this host has no route)/);
  },
);

it.each(['ECONNREFUSED', 'ETIMEDOUT', 'EHOSTUNREACH'])('a host may start later after the error %s', (code) => {
  const host = new UnreachableHost();
  host.hasLasted(failed('ENOTFOUND'));
  vi.advanceTimersByTime(20_000);
  expect(host.hasLasted(failed(code))).toBe(false);
  expect(host.hasLasted(failed('ENOTFOUND'))).toBe(false);
});

it('a name may become known later in Kubernetes', () => {
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.0.0.1');
  const host = new UnreachableHost();
  host.hasLasted(failed('ENOTFOUND'));
  vi.advanceTimersByTime(20_000);
  expect(host.hasLasted(failed('ENOTFOUND'))).toBe(false);
});
