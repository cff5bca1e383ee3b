import { describe, expect, it, vi } from 'vitest';
import type { DeviceFinding, Findings, NcclBinding } from './nccl-binding.js';
import { cudaVersion, ncclVersion, probe, probeWith } from './probe.js';

const device: DeviceFinding = {
  index: 0,
  name: 'a GPU',
  uuid: 'GPU-0',
  busId: '0000:01:00.0',
  capability: [9, 0],
  bytes: 2 ** 30,
  multiprocessors: 1,
};
const all: Findings = {
  driver: { path: '/lib/libcuda.so.1', version: 13_000, isDouble: false },
  nccl: { path: '/lib/libnccl.so.2', version: 22_809, isDouble: false },
  devices: [device],
};
const probing = (findings: Partial<Findings>) => {
  const probe = vi.fn(() => ({ ...all, ...findings }));
  return { probe, binding: { probe } as unknown as NcclBinding };
};

describe('probeWith', () => {
  it('reports driver, NCCL and devices', () => {
    expect(probeWith(probing({}).binding, {})).toEqual({
      available: true,
      reason: undefined,
      driver: { path: '/lib/libcuda.so.1', version: '13.0' },
      nccl: { path: '/lib/libnccl.so.2', version: '2.28.9' },
      devices: [device],
      isDouble: false,
    });
  });

  it('checks the driver, then the devices, then NCCL, and reports only the first problem', () => {
    const driver = { isDouble: false, failure: 'no NVIDIA driver' };
    const nccl = { isDouble: false, failure: 'no NCCL' };
    expect(probeWith(probing({ driver, nccl, devices: [] }).binding, {}).reason).toBe('no NVIDIA driver');
    expect(probeWith(probing({ nccl, devices: [] }).binding, {}).reason).toMatch(
      /reports no GPU.*CUDA_VISIBLE_DEVICES/,
    );
    expect(probeWith(probing({ nccl }).binding, {})).toMatchObject({ available: false, reason: 'no NCCL' });
  });

  it('reports that a library is a test double', () => {
    expect(probeWith(probing({ nccl: { ...all.nccl, isDouble: true } }).binding, {}).isDouble).toBe(true);
  });

  it('loads the library files that environment variables name', () => {
    const { probe, binding } = probing({});
    probeWith(binding, { COLL_CUDA_LIBRARY: '/a', COLL_NCCL_LIBRARY: '' });
    expect(probe.mock.calls).toEqual([[{ cudaLibrary: '/a' }]]);
  });

  it('uses the library path of the environment and the one passed by the program', () => {
    const { probe, binding } = probing({});
    probeWith(binding, { COLL_NCCL_LIBRARY: '/b' }, '/c');
    expect(probe.mock.calls).toEqual([[{ ncclLibrary: '/b', libraryPath: '/c' }]]);
  });
});

it.each([7, '', null])('probe refuses %o as libraryPath', (libraryPath) => {
  expect(() => probe({ libraryPath: libraryPath as string })).toThrow(
    expect.objectContaining({
      name: 'ValueError',
      message: expect.stringMatching(/^probe: libraryPath must be a file/),
    }),
  );
});

it.each([
  [22_809, '2.28.9'],
  [21_801, '2.18.1'],
  [2708, '2.7.8'],
])('the NCCL version code %i is printed as %s', (code, version) => expect(ncclVersion(code)).toBe(version));

it.each([
  [13_010, '13.1'],
  [12_000, '12.0'],
])('the CUDA version code %i is printed as %s', (code, version) => expect(cudaVersion(code)).toBe(version));
