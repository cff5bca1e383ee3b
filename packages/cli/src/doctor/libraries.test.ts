import { expect, it } from 'vitest';
import type { MpiProbe, NcclProbe } from '../project-answers.js';
import { mpiLine, ncclLines } from './libraries.js';

const MiB = 2 ** 20;

const mpi = (probe?: MpiProbe) => mpiLine({ answer: probe ? { probe } : {} });

it('MPI that is not installed is a fact', () => {
  expect(mpi()).toEqual({ name: 'MPI', text: '@coll/mpi is not installed', data: { isInstalled: false } });
});

it('MPI is ok if its library can be loaded', () => {
  const probe = { available: true, version: 'Open MPI v4.1.4, package: Debian', path: '/lib/libmpi.so.40' };
  expect(mpi(probe)).toEqual({
    name: 'MPI',
    verdict: 'ok',
    text: 'Open MPI v4.1.4 (/lib/libmpi.so.40)',
    data: { isInstalled: true, ...probe },
  });
});

it.each([
  ['libmpi.so.40: cannot open shared object file', /^install MPI .* or set COLL_MPI_LIB to libmpi.so$/],
  [
    'the addon cannot be loaded from x: not installed: npm install @coll/mpi-linux-x64-gnu',
    /^npm install @coll\/mpi-linux-x64-gnu$/,
  ],
  ['the addon cannot be loaded from x: invalid ELF header', /^delete node_modules and run npm install/],
  ['@coll/mpi is available on Linux only, not on darwin', /^run programs on Linux, or npm uninstall @coll\/mpi$/],
])('MPI is broken if it cannot be used: %s', (reason, cure) => {
  expect(mpi({ available: false, reason })).toMatchObject({
    verdict: 'broken',
    text: reason,
    cure: expect.stringMatching(cure),
  });
});

it('MPI is broken if its probe fails', () => {
  expect(mpiLine({ failure: 'no answer within 30 seconds' })).toMatchObject({
    verdict: 'broken',
    text: '@coll/mpi could not be probed: no answer within 30 seconds',
    cure: expect.stringMatching(/^npm install @coll\/mpi again/),
  });
});

const gpu = (index: number, name = 'NVIDIA H200') => ({ index, name, bytes: 141e9 });
const driver = { path: '/lib/libcuda.so.1', version: '13.0' };
const nccl = { path: '/lib/libnccl.so.2', version: '2.28.9' };
const works: NcclProbe = { available: true, driver, nccl, devices: [gpu(0), gpu(1)] };
const size = { bytes: 64 * MiB, freeBytes: 64 * MiB };

const lines = (probe?: NcclProbe, bytes = size, environment = {}) =>
  ncclLines({ answer: probe ? { probe } : {} }, { size: bytes, environment });

it('NCCL that is not installed is a fact, and nothing else uses /dev/shm', () => {
  expect(lines()).toEqual([
    { name: 'NCCL', text: '@coll/nccl is not installed', data: { isInstalled: false } },
    { name: 'GPUs', text: 'not examined: @coll/nccl finds them' },
    { name: '/dev/shm', text: '64 MiB, of which 64 MiB are free (only NCCL uses it)', data: size },
  ]);
});

it('NCCL is ok with GPUs, which are listed by name', () => {
  const devices = [gpu(0), gpu(1), gpu(2, 'NVIDIA T4')];
  expect(lines({ ...works, devices })).toMatchObject([
    { verdict: 'ok', text: 'NCCL 2.28.9, CUDA 13.0 (/lib/libnccl.so.2)' },
    { text: '2 x NVIDIA H200, 1 x NVIDIA T4', data: { devices } },
    { verdict: 'ok' },
  ]);
  expect(lines({ ...works, isDouble: true })[0]?.text).toMatch(/, a test double$/);
});

it('NCCL is slow without a driver or without a GPU, because programs then use the processors', () => {
  const none = { available: false, reason: 'there is no NVIDIA driver', devices: [] };
  expect(lines(none)).toMatchObject([
    { verdict: 'slow', text: 'there is no NVIDIA driver', cure: expect.stringContaining('docker run --gpus all') },
    { text: 'none' },
    { verdict: 'ok' },
  ]);
  expect(lines({ ...none, driver })[0]).toMatchObject({
    verdict: 'slow',
    cure: expect.stringContaining('CUDA_VISIBLE_DEVICES'),
  });
});

it.each([
  ['libnccl.so.2: no such file', /^install NCCL .* or set COLL_NCCL_LIBRARY/],
  [
    'the addon cannot be loaded from x: not installed: npm install @coll/nccl-linux-x64-gnu',
    /^npm install @coll\/nccl-linux-x64-gnu$/,
  ],
])('NCCL is broken if GPUs are there, but not the library: %s', (reason, cure) => {
  const [line] = lines({ available: false, reason, driver, devices: [gpu(0)] });
  expect(line).toMatchObject({ verdict: 'broken', text: reason, cure: expect.stringMatching(cure) });
});

it('NCCL is broken if its probe fails', () => {
  const [line, gpus] = ncclLines({ failure: 'its process ended by SIGSEGV' }, { size, environment: {} });
  expect(line).toMatchObject({
    verdict: 'broken',
    text: '@coll/nccl could not be probed: its process ended by SIGSEGV',
  });
  expect(gpus).toMatchObject({ text: 'not examined: @coll/nccl finds them' });
});

it('a small /dev/shm is broken with several GPUs, unless NCCL does not use it', () => {
  const probe = { ...works, devices: [0, 1, 2, 3].map((index) => gpu(index)) };
  const [, , line] = lines(probe);
  expect(line).toMatchObject({
    verdict: 'broken',
    text: '64 MiB, of which 64 MiB are free: too small for NCCL with 4 GPUs',
    cure: expect.stringMatching(/^start the container with --shm-size=1g/),
  });
  expect(lines(probe, { bytes: 2048 * MiB, freeBytes: 1536 * MiB })[2]).toMatchObject({
    verdict: 'ok',
    text: '2 GiB, of which 1.5 GiB are free',
  });
  expect(lines(probe, size, { NCCL_SHM_DISABLE: '1' })[2]?.verdict).toBeUndefined();
  expect(lines(works)[2]).toMatchObject({ verdict: 'ok' });
});

it('a system without /dev/shm does not report it', () => {
  const [, , line] = ncclLines({ answer: { probe: works } }, { size: undefined, environment: {} });
  expect(line).toEqual({ name: '/dev/shm', text: 'not reported by this system' });
});
