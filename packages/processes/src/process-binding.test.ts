import { type NativeBinding, nativeBinding, nativeInterface } from '@coll/native/addon';
import { afterEach, expect, it, vi } from 'vitest';
import { processBinding } from './process-binding.js';

const found = nativeBinding() as { -readonly [Key in keyof NativeBinding]: NativeBinding[Key] };
const whole = { ...found };

afterEach(() => {
  vi.unstubAllGlobals();
  Object.assign(found, whole);
});

it('processBinding loads an addon with the right interface version', () => {
  expect(processBinding().interface).toBe(nativeInterface);
});

it('processBinding refuses an addon with another interface version', () => {
  Object.assign(found, { interface: 5 });
  expect(processBinding).toThrow(
    expect.objectContaining({
      ...{ name: 'CollError', code: 'ERR_COLL_NO_ENGINE', operation: 'open a group' },
      message:
        '@coll/native has interface version 5, but @coll/processes needs version 19: install the same version of both',
    }),
  );
});

it('processBinding throws for an addon without process groups, as on systems other than Linux', () => {
  Object.assign(found, { processes: undefined });
  expect(processBinding).toThrow(
    expect.objectContaining({
      ...{ name: 'CollError', code: 'ERR_COLL_NO_ENGINE', operation: 'open a group' },
      message: `groups of processes work on Linux only so far, not on ${process.platform}`,
    }),
  );
});

it('processBinding refuses Deno, whose sockets have no descriptors', () => {
  vi.stubGlobal('process', Object.create(process, { versions: { value: { ...process.versions, deno: '1.2.3' } } }));
  expect(processBinding).toThrow(
    expect.objectContaining({
      ...{ name: 'CollError', code: 'ERR_COLL_NO_ENGINE', operation: 'open a group' },
      message: expect.stringMatching(
        /^Deno 1\.2\.3 does not expose the descriptors .*: run this program in Node or Bun$/,
      ),
    }),
  );
});
